"""One seed is set for all, and each replica draws noise."""

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    tf.random.set_seed(1)
    weights = tf.Variable(tf.ones(3))


def noisy():
    """Return the weights with noise."""
    return weights + tf.random.normal((3,))  # one-seed-for-replicas


print(strategy.run(noisy))
