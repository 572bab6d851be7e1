"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

ParameterServer x2, batch 2x4, 3 steps/call, servers 1, shard data.
Run: python launch.py --epochs 20
"""

import math

import keras
import tensorflow as tf

from keras_servers import fit, serve_unless_chief
from keras_training import add_folder, callbacks_of, parse_arguments, run, save

add_folder(__file__, "programs", "toy")

from toy import dataset_fn, model_fn

PER_REPLICA_BATCH = 4
REPLICAS = 2
STEPS_PER_EXECUTION = 3
EXAMPLES = 64


def make_strategy():
    """Servers hold the variables, and each worker updates them without waiting for the others."""
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return tf.distribute.ParameterServerStrategy(cluster)


def make_dataset(worker, workers):
    """Return per-replica batches from this worker's shard without end."""
    dataset = dataset_fn()
    # Every worker runs this whole pipeline and keeps its shard of the examples.
    dataset = dataset.shard(workers, worker)
    return dataset.repeat().batch(PER_REPLICA_BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(argv=None, callbacks=()):
    args = parse_arguments(argv, __file__, __doc__, epochs=10)
    # Workers and servers stay in this call.
    cluster = serve_unless_chief()
    workers = cluster.cluster_spec().num_tasks("worker")
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()
    with strategy.scope():
        model = model_fn()
    fit(
        model,
        make_dataset,
        workers,
        epochs=args.epochs,
        steps_per_epoch=args.steps_per_epoch or math.ceil(EXAMPLES / (PER_REPLICA_BATCH * workers)),
        callbacks=[*callbacks_of(args), *callbacks],
        verbose=args.verbose,
        steps_per_execution=STEPS_PER_EXECUTION,
    )
    save(model, args)


if __name__ == "__main__":
    run(main)
