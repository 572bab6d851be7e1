"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

MultiWorkerMirrored x2, batch 2x4, 3 steps/call, shard data.
Run: python launch.py --epochs 20
"""

import math

import keras
import tensorflow as tf

from keras_multiworker import Checkpoints, check_same_software, fit, save, warn_of_other_size
from keras_training import add_folder, callbacks_of, parse_arguments, run

add_folder(__file__, "programs", "toy")

from toy import dataset_fn, model_fn

PER_REPLICA_BATCH = 4
REPLICAS = 2
STEPS_PER_EXECUTION = 3
EXAMPLES = 64


def make_strategy():
    """It reads the workers' addresses from TF_CONFIG, and waits here until all have started."""
    return tf.distribute.MultiWorkerMirroredStrategy()


def make_dataset(global_batch):
    """Return global batches without end."""
    dataset = dataset_fn()
    options = tf.data.Options()
    # Every worker runs this whole pipeline, and tf.data keeps its shard of the examples.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = dataset.with_options(options)
    return dataset.repeat().batch(global_batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(argv=None, callbacks=()):
    args = parse_arguments(argv, __file__, __doc__, epochs=10)
    # The same on all workers, which must start from equal weights and shuffle alike.
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()
    check_same_software(strategy, __file__, model_fn, dataset_fn)
    with strategy.scope():
        model = model_fn()
    warn_of_other_size(strategy, REPLICAS, PER_REPLICA_BATCH)
    global_batch = PER_REPLICA_BATCH * strategy.num_replicas_in_sync
    batches = strategy.experimental_distribute_dataset(make_dataset(global_batch))
    fit(
        model,
        batches,
        epochs=args.epochs,
        steps_per_epoch=args.steps_per_epoch or math.ceil(EXAMPLES / global_batch),
        callbacks=[*callbacks_of(args, Checkpoints), *callbacks],
        verbose=args.verbose,
        steps_per_execution=STEPS_PER_EXECUTION,
        seed=args.seed,
    )
    save(model, args)


if __name__ == "__main__":
    run(main)
