"""One worker that trains a wide layer without end, and prints when each step began and its seconds.

    python -m benchmarks.scaling.worker UNITS

The gradients have 4 kB for each unit. Without TF_CONFIG, which says who takes part, it is alone.
"""

import os
import sys
import time

import tensorflow as tf

INPUTS = 1000
BATCH = 64


def main(units: int) -> None:
    """Train."""
    together = "TF_CONFIG" in os.environ
    strategy = (
        tf.distribute.MultiWorkerMirroredStrategy() if together else tf.distribute.get_strategy()
    )
    with strategy.scope():
        weights = tf.Variable(tf.ones((INPUTS, units)))

    def replica() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.ones((BATCH, INPUTS)) @ weights)
        gradient = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        weights.assign_sub(1e-6 * context.all_reduce(tf.distribute.ReduceOp.SUM, gradient))

    @tf.function  # type: ignore[untyped-decorator] # TensorFlow has no types
    def step() -> None:
        strategy.run(replica)

    while True:
        begin = time.monotonic()
        step()
        weights.values[0][0, 0].numpy() if together else weights[0, 0].numpy()
        print(begin, time.monotonic() - begin, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
