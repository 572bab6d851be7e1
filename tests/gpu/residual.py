"""A residual network on images of 32 x 32, for the two searches of docs/gpu.md."""

import keras
import numpy as np
import tensorflow as tf


def model_fn() -> keras.Model:
    """Return six residual convolutions on three widths."""
    layers = keras.layers
    x = inputs = keras.Input((32, 32, 3))
    for width in (64, 128, 256):
        x = layers.Conv2D(width, 3, strides=2, padding="same")(x)
        for _ in range(2):
            y = layers.Activation("relu")(layers.BatchNormalization()(x))
            x = layers.add([x, layers.Conv2D(width, 3, padding="same")(y)])
    x = layers.GlobalAveragePooling2D()(layers.Activation("relu")(x))
    model = keras.Model(inputs, layers.Dense(10, dtype="float32")(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return images whose mean tells their label, so that a training can be seen to learn."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 50_000)
    images = rng.normal(labels[:, None, None, None] / 10, 1, (50_000, 32, 32, 3)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(50_000, seed=0)
