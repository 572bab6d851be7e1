"""Compute-bound: a small convolutional network on images of 32 by 32."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 4096


def model_fn(filters: int = 16) -> keras.Model:
    """Build and compile three convolutions and a classifier."""
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(filters, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(2 * filters, 3, activation="relu"),
            keras.layers.Conv2D(2 * filters, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random images with random labels."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((IMAGES, 32, 32, 3), dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices((images, rng.integers(10, size=IMAGES)))
