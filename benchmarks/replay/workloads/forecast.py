"""A forecast of a series by dilated convolutions, from windows that are cut anew in each epoch."""

import keras
import numpy as np
import tensorflow as tf

POINTS = 16_384
LENGTH = 96
SERIES = 4


def model_fn(filters: int = 24) -> keras.Model:
    """Build and compile five causal convolutions, each twice as wide as the one before."""
    inputs = keras.Input((LENGTH, SERIES))
    x = inputs
    for dilation in (1, 2, 4, 8, 16):
        x = keras.layers.Conv1D(
            filters, 3, padding="causal", dilation_rate=dilation, activation="relu"
        )(x)
    model = keras.Model(inputs, keras.layers.Dense(SERIES)(x[:, -1]))
    model.compile(optimizer="adam", loss="mae")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return windows of random walks, in random order, with the values that follow each."""
    rng = np.random.default_rng(0)
    walks = tf.constant(rng.standard_normal((POINTS, SERIES), dtype=np.float32).cumsum(axis=0))

    def window(start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        cut = walks[start : start + LENGTH + 1]
        return tf.ensure_shape(cut[:-1], (LENGTH, SERIES)), tf.ensure_shape(cut[-1], (SERIES,))

    starts = tf.data.Dataset.range(POINTS - LENGTH).shuffle(POINTS)
    return starts.map(window, num_parallel_calls=num_parallel_calls)
