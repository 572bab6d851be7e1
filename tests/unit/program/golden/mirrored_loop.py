"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

Mirrored x2, batch 2x4, 5 steps/call.
Run: python train.py --epochs 20
"""

import keras
import tensorflow as tf

from keras_multiworker import fit, save
from keras_training import add_folder, callbacks_of, logical_cpus, parse_arguments, run

add_folder(__file__, "programs", "toy")

from toy import dataset_fn, model_fn

PER_REPLICA_BATCH = 4
REPLICAS = 2
GLOBAL_BATCH = PER_REPLICA_BATCH * REPLICAS
STEPS_PER_EXECUTION = 5
EXAMPLES = 64


def make_strategy():
    """A copy of the model on each device; their gradients are added up after each step."""
    devices = logical_cpus(REPLICAS)
    return tf.distribute.MirroredStrategy(devices)


def make_dataset():
    """Return global batches without end."""
    dataset = dataset_fn()
    return dataset.repeat().batch(GLOBAL_BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(argv=None, callbacks=()):
    args = parse_arguments(argv, __file__, __doc__, epochs=10, steps=EXAMPLES / GLOBAL_BATCH)
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()
    with strategy.scope():
        model = model_fn()
    batches = strategy.experimental_distribute_dataset(make_dataset())
    fit(
        model,
        batches,
        epochs=args.epochs,
        steps_per_epoch=args.steps_per_epoch,
        callbacks=[*callbacks_of(args), *callbacks],
        verbose=args.verbose,
        steps_per_execution=STEPS_PER_EXECUTION,
    )
    save(model, args)


if __name__ == "__main__":
    run(main)
