"""Spectra, each scaled to its peak, through convolutions along the wavelength."""

import keras
import numpy as np
import tensorflow as tf

SPECTRA = 10_000
POINTS = 256


def model_fn(filters: int = 16) -> keras.Model:
    """Build and compile two convolutions and a classifier."""
    model = keras.Sequential(
        [
            keras.Input((POINTS, 1)),
            keras.layers.Conv1D(filters, 9, strides=2, activation="relu"),
            keras.layers.Conv1D(2 * filters, 9, strides=2, activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(6),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random spectra with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    spectra = rng.exponential(size=(SPECTRA, POINTS, 1)).astype(np.float32)
    pairs = tf.data.Dataset.from_tensor_slices((spectra, rng.integers(6, size=SPECTRA)))
    return pairs.map(_scaled, num_parallel_calls=tf.data.AUTOTUNE).shuffle(SPECTRA)


def _scaled(spectrum: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return spectrum / tf.reduce_max(spectrum), label
