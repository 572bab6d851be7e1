"""The workload of a machine's check: imported by its trials, never by autotune itself.

A step takes a few milliseconds, some in the call and some in arithmetic, as in most small models.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 8_192
FEATURES = 64
CLASSES = 10


def model_fn() -> keras.Model:
    """Build and compile a network of two hidden layers."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(256, activation="relu"),
            layers.Dense(256, activation="relu"),
            layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random numbers with random labels: nothing is read, nothing is learned."""
    draw = np.random.default_rng(0)
    numbers = draw.standard_normal((EXAMPLES, FEATURES), dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices((numbers, draw.integers(CLASSES, size=EXAMPLES)))
