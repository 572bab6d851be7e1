"""Trains an autoencoder by a train_step of its own, which no formula for batches holds for."""

import keras
import numpy as np
import tensorflow as tf


class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(32, "relu")
        self.outer = keras.layers.Dense(16)

    def compile(self, rate):
        super().compile()
        self.own_optimizer = keras.optimizers.SGD(rate)

    def call(self, x):
        return self.outer(self.inner(x))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(keras.ops.square(x - self(x)))
        found = tape.gradient(loss, self.trainable_variables)
        self.own_optimizer.apply_gradients(zip(found, self.trainable_variables, strict=True))
        return {"loss": loss}


data = np.random.default_rng(0).random((2048, 16), "float32")
model = Autoencoder()
model.compile(0.01)
model.fit(tf.data.Dataset.from_tensor_slices(data).batch(64), epochs=2)
