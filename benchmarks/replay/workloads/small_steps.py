"""Bound by the overhead of each step: a small network on examples that lie in memory."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 32_768


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network with one small hidden layer."""
    model = keras.Sequential(
        [
            keras.Input((100,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random numbers with random labels."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((EXAMPLES, 100), dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices((numbers, rng.integers(10, size=EXAMPLES)))
