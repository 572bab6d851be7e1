"""Nothing differs: a source that gives an example each millisecond, whoever waits for it."""

import time
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile a network with one small hidden layer."""
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random numbers with random labels, as a sensor would send them."""
    signature = (tf.TensorSpec((64,), tf.float32), tf.TensorSpec((), tf.int64))
    return tf.data.Dataset.from_generator(_examples, output_signature=signature)


def _examples() -> Iterator[tuple[np.ndarray, np.int64]]:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((4096, 64), dtype=np.float32)
    due = time.monotonic()
    for example in zip(numbers, rng.integers(10, size=4096), strict=True):
        due = max(due, time.monotonic() - 0.05) + 0.001
        time.sleep(max(due - time.monotonic(), 0))
        yield example
