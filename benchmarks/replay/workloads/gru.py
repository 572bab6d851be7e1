"""A classifier of short series: a gated recurrent layer over 24 moments of 8 numbers."""

import keras
import numpy as np
import tensorflow as tf

SERIES = 8192
MOMENTS = 24


def model_fn(units: int = 24) -> keras.Model:
    """Build and compile a recurrent layer and a classifier."""
    model = keras.Sequential(
        [
            keras.Input((MOMENTS, 8)),
            keras.layers.GRU(units),
            keras.layers.Dense(6),
        ]
    )
    model.compile(
        optimizer="rmsprop", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random series with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    series = rng.standard_normal((SERIES, MOMENTS, 8), dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices((series, rng.integers(6, size=SERIES))).shuffle(2048)
