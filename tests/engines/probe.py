"""A workload that does nothing but exchange gradients: one variable, and next to no arithmetic.

Trained under a strategy, a step takes what the strategy adds to every step and what it needs to
add up so many gradients, moved as one. It is imported in the processes of trials only.
"""

import keras
import tensorflow as tf


class _Sum(keras.layers.Layer):  # type: ignore[misc] # Keras has no types
    """Adds the first of its numbers to its input; the gradient covers them all."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.numbers = self.add_weight(shape=(numbers,), initializer="zeros", name="numbers")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return inputs + self.numbers[0]


def model_fn(numbers: int) -> keras.Model:
    """Return a compiled model of so many 32-bit numbers."""
    model = keras.Sequential([keras.Input((1,)), _Sum(numbers)])
    model.compile(optimizer=keras.optimizers.SGD(1e-6), loss="mse")
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return a few examples of one number."""
    zeros = tf.zeros((4096, 1))
    return tf.data.Dataset.from_tensor_slices((zeros, zeros))
