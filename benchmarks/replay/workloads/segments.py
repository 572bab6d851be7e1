"""Segmentation: a small U-shaped network that colours each pixel of an image of 48 by 48."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 2048
SIDE = 48


def model_fn(filters: int = 8) -> keras.Model:
    """Build and compile one step down, one up, and what leaps over both."""
    images = keras.Input((SIDE, SIDE, 3))
    wide = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(images)
    deep = keras.layers.MaxPooling2D(4)(wide)
    for _ in range(2):
        deep = keras.layers.SeparableConv2D(2 * filters, 3, padding="same")(deep)
        deep = keras.layers.Activation("relu")(keras.layers.BatchNormalization()(deep))
    both = keras.layers.Concatenate()([wide, keras.layers.UpSampling2D(4)(deep)])
    model = keras.Model(images, keras.layers.Conv2D(4, 1)(both))
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random images with random colours of their pixels, flipped at random."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(IMAGES, SIDE, SIDE, 3), dtype=np.uint8)
    colours = rng.integers(4, size=(IMAGES, SIDE, SIDE, 1), dtype=np.uint8)
    pairs = tf.data.Dataset.from_tensor_slices((images, colours))
    return pairs.map(_flipped, num_parallel_calls=tf.data.AUTOTUNE)


def _flipped(image: tf.Tensor, colours: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    both = tf.concat([image, colours], axis=-1)
    both = tf.image.random_flip_left_right(both)
    return tf.cast(both[..., :3], tf.float32) / 255, both[..., 3:]
