"""A small model for the checks, and one that no GPU can hold."""

import keras
import tensorflow as tf


def model_fn(width: int = 16) -> keras.Model:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(width, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, dtype="float32"),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model


def dataset_fn() -> tf.data.Dataset:
    images = tf.random.stateless_uniform((4096, 32, 32, 3), seed=(0, 0))
    labels = tf.range(4096) % 10
    return tf.data.Dataset.from_tensor_slices((images, labels))


def huge_model_fn() -> keras.Model:
    """Return a model of which one activation takes a terabyte."""
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.UpSampling2D(512),
            keras.layers.Conv2D(32, 3),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model
