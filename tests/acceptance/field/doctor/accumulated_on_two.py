"""Eight small batches to an update, on two replicas."""

import keras
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])


def build() -> keras.Model:
    """Return a model with its optimizer."""
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
    adam = keras.optimizers.Adam(1e-3, gradient_accumulation_steps=8)  # accumulation-on-replicas
    model.compile(adam, "mse")
    return model


with strategy.scope():
    network = build()

network.fit(np.zeros((640, 16)), np.zeros((640, 1)), batch_size=32)
