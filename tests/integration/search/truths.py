"""Three programs whose truth is known: a paced input, a sleeping step, a padded gradient.

Each has a small network, and one thing that takes nearly all of its time by construction.
"""

import time
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

FEATURES = 32
EXAMPLES = 2_048
LATE = 0.1
"""Seconds past which an example that is due is no longer caught up: nobody had asked for it."""


def model_fn(sleep: float = 0.0, numbers: int = 0) -> keras.Model:
    """Return a compiled model.

    Args:
        sleep: Seconds that a step spends doing nothing, for each of its examples.
        numbers: Weights whose gradients are exchanged and mean next to no arithmetic.
    """
    layers = [keras.Input((FEATURES,)), _Sleep(sleep), _Padding(numbers), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(optimizer=keras.optimizers.SGD(1e-4), loss="mse")
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return examples from memory, which take no time."""
    return tf.data.Dataset.from_tensor_slices(_numbers())


def paced_fn(seconds: float = 0.01) -> tf.data.Dataset:
    """Return the examples one by one, each so many seconds after the one before."""
    signature = (tf.TensorSpec((FEATURES,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return tf.data.Dataset.from_generator(lambda: _paced(seconds), output_signature=signature)


def _paced(seconds: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    due = time.monotonic()
    for example in zip(*_numbers(), strict=True):
        due = max(due, time.monotonic() - LATE) + seconds
        time.sleep(max(due - time.monotonic(), 0.0))
        yield example


def _numbers() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    numbers = draw.standard_normal((EXAMPLES, FEATURES), dtype=np.float32)
    return numbers, numbers.mean(axis=1, keepdims=True)


class _Sleep(keras.layers.Layer):  # type: ignore[misc] # Keras has no types
    """Passes its input on after some seconds for each example."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        if not self.seconds:
            return inputs
        outputs = tf.numpy_function(self._pass_on, [inputs], tf.float32)
        return tf.ensure_shape(outputs, inputs.shape)

    def _pass_on(self, inputs: np.ndarray) -> np.ndarray:
        time.sleep(self.seconds * len(inputs))
        return inputs


class _Padding(keras.layers.Layer):  # type: ignore[misc] # Keras has no types
    """Adds the first of many numbers to its input; the gradient covers them all."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        shape = (max(numbers, 1),)
        self.numbers = self.add_weight(shape=shape, initializer="zeros", name="numbers")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs + self.numbers[0]
