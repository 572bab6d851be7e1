"""Shares of a loss are averaged by Keras, by a strategy, and added up as they should."""

import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
BATCH = 8 * strategy.num_replicas_in_sync
mean_squared = keras.losses.MeanSquaredError()


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.shown = keras.metrics.Mean(name="shown")

    def call(self, rows):
        return self.dense(rows)

    def train_step(self, data):
        rows, labels = data
        with tf.GradientTape() as tape:
            loss = mean_squared(labels, self(rows, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.shown(loss)  # share-in-mean
        return {
            "shown": self.shown.result(),
            "of_batch": loss,  # share-in-mean
        }


with strategy.scope():
    net = Net()
    net.compile("sgd", mean_squared)


def error(batch):
    rows, labels = batch
    squares = tf.square(labels - net(rows))
    return tf.reduce_sum(squares) / BATCH


@tf.function
def validate(batch):
    shares = strategy.run(error, args=(batch,))
    wrong = strategy.reduce("MEAN", shares, axis=None)  # share-in-mean
    return wrong, strategy.reduce("SUM", shares, axis=None)
