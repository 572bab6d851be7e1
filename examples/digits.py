"""Handwritten digits and a small convolutional network: an ordinary image classifier.

The 1,797 images of 8 x 8 pixels come with scikit-learn, so nothing is downloaded.

    autotune tune examples/digits.py:model_fn examples/digits.py:dataset_fn
"""

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits


def model_fn(filters: int = 32) -> keras.Model:
    """Build and compile a network of two convolutions."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(filters, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(2 * filters, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return single pairs of an image, scaled to 0..1, and its digit."""
    digits = load_digits()
    images = digits.images[..., np.newaxis].astype(np.float32) / 16
    labels = digits.target.astype(np.int64)
    # The seed is fixed because workers that shuffle differently would read overlapping shares.
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(labels), seed=0)
