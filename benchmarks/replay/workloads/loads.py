"""The load of a power grid in the next hours, by a recurrence over windows of the last ones."""

import keras
import numpy as np
import tensorflow as tf

HOURS = 12_288
PAST = 36
AHEAD = 6
SERIES = 5


def model_fn(units: int = 40) -> keras.Model:
    """Build and compile a GRU and a forecast of some hours at once."""
    model = keras.Sequential(
        [
            keras.Input((PAST, SERIES)),
            keras.layers.GRU(units),
            keras.layers.Dense(AHEAD),
        ]
    )
    model.compile(optimizer="adam", loss=keras.losses.Huber())
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return windows of daily waves with noise, with the first series of the hours that follow."""
    rng = np.random.default_rng(0)
    waves = np.sin(np.arange(HOURS)[:, None] * np.pi / 12 + np.arange(SERIES))
    grid = tf.constant(waves + rng.normal(0, 0.2, waves.shape), tf.float32)

    def window(start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        past = grid[start : start + PAST]
        ahead = grid[start + PAST : start + PAST + AHEAD, 0]
        return tf.ensure_shape(past, (PAST, SERIES)), tf.ensure_shape(ahead, (AHEAD,))

    starts = tf.data.Dataset.range(HOURS - PAST - AHEAD).shuffle(HOURS)
    return starts.map(window, num_parallel_calls=num_parallel_calls)
