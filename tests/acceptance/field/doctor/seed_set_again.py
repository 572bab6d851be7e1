"""A seed is set twice, and the second one is in force where replicas draw."""

import tensorflow as tf

tf.random.set_seed(1)
strategy = tf.distribute.MirroredStrategy()

tf.random.set_seed(7)


@tf.function
def step():
    """Return a number of each replica."""
    return strategy.run(lambda: tf.random.uniform(()))  # one-seed-for-replicas: line 8


print(step())
