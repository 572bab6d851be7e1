"""Input-bound by waiting: every example comes from a store that answers after 2 ms."""

import time

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 4096


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


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random numbers with random labels, each fetched with a delay."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((EXAMPLES, 64), dtype=np.float32)
    pairs = tf.data.Dataset.from_tensor_slices((numbers, rng.integers(10, size=EXAMPLES)))
    return pairs.map(_fetch, num_parallel_calls=num_parallel_calls)


def _fetch(numbers: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    fetched = tf.numpy_function(_answer, [numbers], tf.float32, stateful=False)
    return tf.ensure_shape(fetched, (64,)), label


def _answer(numbers: np.ndarray) -> np.ndarray:
    time.sleep(0.002)
    return numbers
