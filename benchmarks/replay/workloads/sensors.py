"""A classifier of what a device does, from short recordings of six sensors, scaled as read."""

import keras
import numpy as np
import tensorflow as tf

RECORDINGS = 24_576
LENGTH = 64
SENSORS = 6
ACTIVITIES = 6


def model_fn(units: int = 128) -> keras.Model:
    """Build and compile a network of dense layers with normalized batches."""
    model = keras.Sequential([keras.Input((LENGTH, SENSORS)), keras.layers.Flatten()])
    for size in (2 * units, units):
        model.add(keras.layers.Dense(size, use_bias=False))
        model.add(keras.layers.BatchNormalization())
        model.add(keras.layers.Activation("relu"))
    model.add(keras.layers.Dense(ACTIVITIES))
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random recordings in random order, each scaled by its own extremes."""
    rng = np.random.default_rng(0)
    readings = rng.integers(-2048, 2048, size=(RECORDINGS, LENGTH, SENSORS), dtype=np.int16)
    labels = rng.integers(ACTIVITIES, size=RECORDINGS, dtype=np.int64)
    recordings = tf.data.Dataset.from_tensor_slices((readings, labels))
    scaled = recordings.map(_scaled, num_parallel_calls=tf.data.AUTOTUNE)
    return scaled.shuffle(4096)


def _scaled(readings: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    values = tf.cast(readings, tf.float32)
    low, high = tf.reduce_min(values, axis=0), tf.reduce_max(values, axis=0)
    return (values - low) / (high - low + 1.0), label
