"""Rain from a few radar pictures in a row: convolutions in each, and a recurrence over them."""

import keras
import numpy as np
import tensorflow as tf

SEQUENCES = 3072
PICTURES = 6
SIDE = 20


def model_fn(filters: int = 8) -> keras.Model:
    """Build and compile the same convolutions for each picture, a GRU and one figure."""
    model = keras.Sequential(
        [
            keras.Input((PICTURES, SIDE, SIDE, 1)),
            keras.layers.TimeDistributed(
                keras.layers.Conv2D(filters, 3, strides=2, activation="relu")
            ),
            keras.layers.TimeDistributed(
                keras.layers.Conv2D(2 * filters, 3, strides=2, activation="relu")
            ),
            keras.layers.TimeDistributed(keras.layers.Flatten()),
            keras.layers.GRU(32),
            keras.layers.Dense(1, activation="softplus"),
        ]
    )
    model.compile(optimizer="adam", loss="poisson")
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random pictures in a row, scaled as they are read, with the rain that followed."""
    rng = np.random.default_rng(0)
    radar = rng.integers(256, size=(SEQUENCES, PICTURES, SIDE, SIDE, 1), dtype=np.uint8)
    rain = rng.poisson(2, (SEQUENCES, 1)).astype(np.float32)

    def scaled(pictures: tf.Tensor, fallen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.math.log1p(tf.cast(pictures, tf.float32)), fallen

    rows = tf.data.Dataset.from_tensor_slices((radar, rain)).shuffle(SEQUENCES)
    return rows.map(scaled, num_parallel_calls=tf.data.AUTOTUNE)
