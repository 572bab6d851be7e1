"""A GAN: two optimizers of its own make each step; that of compile and its loss make none."""

import keras
import numpy as np
import tensorflow as tf


class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)])
        self.critic = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])

    def compile(self, of_critic, of_generator):
        super().compile(loss="mse")
        self.of_critic, self.of_generator = of_critic, of_generator

    def train_step(self, real):
        noise = tf.random.normal((tf.shape(real)[0], 4))
        with tf.GradientTape(persistent=True) as tape:
            made, true = self.critic(self.generator(noise)), self.critic(real)
            worse, better = (
                tf.reduce_mean(made**2 + (1 - true) ** 2),
                tf.reduce_mean((1 - made) ** 2),
            )
        weights = self.critic.trainable_weights
        self.of_critic.apply_gradients(zip(tape.gradient(worse, weights), weights))
        weights = self.generator.trainable_weights
        self.of_generator.apply_gradients(zip(tape.gradient(better, weights), weights))
        return {"worse": worse}


gan = Gan()
gan.compile(keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-3))
rows = np.random.rand(400, 8).astype("float32")
images = (
    tf.data.Dataset.from_tensor_slices(rows)
    .shuffle(400)
    .map(lambda row: row + tf.random.normal([8]))
    .batch(20)
)
gan.fit(images, epochs=3)
