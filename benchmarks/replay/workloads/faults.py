"""An autoencoder of machine readings, which are scaled and given noise as they are read."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 49_152
READINGS = 52


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile dense layers that narrow to eight figures and widen again."""
    model = keras.Sequential([keras.Input((READINGS,))])
    for size in (units, units // 2, 8, units // 2, units):
        model.add(keras.layers.Dense(size, activation="tanh"))
    model.add(keras.layers.Dense(READINGS))
    model.compile(optimizer="adam", loss="mse")
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random readings with noise, and the same without."""
    rng = np.random.default_rng(0)
    readings = rng.normal(100, 15, (EXAMPLES, READINGS)).astype(np.float32)

    def noisy(one: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        scaled = (one - 100.0) / 15.0
        return scaled + tf.random.normal((READINGS,), stddev=0.1), scaled

    return tf.data.Dataset.from_tensor_slices(readings).map(noisy).shuffle(2048)
