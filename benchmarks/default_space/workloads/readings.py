"""An LSTM of 40 units over 20,000 sequences of sensor readings."""

import keras
import numpy as np
import tensorflow as tf

SEQUENCES = 20_000
READINGS = 20
SENSORS = 6


def model_fn(units: int = 40) -> keras.Model:
    """Build and compile one LSTM layer with one output."""
    model = keras.Sequential(
        [
            keras.Input((READINGS, SENSORS)),
            keras.layers.LSTM(units),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random sequences with the mean of their last readings."""
    rng = np.random.default_rng(0)
    sequences = rng.standard_normal((SEQUENCES, READINGS, SENSORS), dtype=np.float32)
    return tf.data.Dataset.from_tensor_slices((sequences, sequences[:, -4:].mean(axis=(1, 2))))
