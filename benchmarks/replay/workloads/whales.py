"""Calls of whales, told apart: a strided convolution over sound, then two recurrences."""

import keras
import numpy as np
import tensorflow as tf

CALLS = 8192
SAMPLES = 512
KINDS = 12


def model_fn(units: int = 48) -> keras.Model:
    """Build and compile a convolution that halves its input four times, and two LSTM layers."""
    model = keras.Sequential(
        [
            keras.Input((SAMPLES, 1)),
            keras.layers.Conv1D(24, 32, strides=16, activation="gelu"),
            keras.layers.LSTM(units, return_sequences=True),
            keras.layers.LSTM(units),
            keras.layers.Dense(KINDS),
        ]
    )
    model.compile(
        optimizer="rmsprop",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random calls, which are brought to one loudness as they are read."""
    rng = np.random.default_rng(0)
    sound = rng.integers(-(2**15), 2**15, (CALLS, SAMPLES, 1), dtype=np.int16)
    kinds = rng.integers(KINDS, size=CALLS)

    def level(samples: tf.Tensor, kind: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        wave = tf.cast(samples, tf.float32)
        return wave / tf.reduce_max(tf.abs(wave)), kind

    rows = tf.data.Dataset.from_tensor_slices((sound, kinds)).shuffle(CALLS)
    return rows.map(level, num_parallel_calls=tf.data.AUTOTUNE)
