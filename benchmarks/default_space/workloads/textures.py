"""Small images, mirrored at random, through separable convolutions."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 4_096
SIZE = 24


def model_fn(filters: int = 24) -> keras.Model:
    """Build and compile two separable convolutions and a classifier."""
    model = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 3)),
            keras.layers.SeparableConv2D(filters, 3, strides=2, activation="relu"),
            keras.layers.SeparableConv2D(2 * filters, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(8),
        ]
    )
    model.compile(
        optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random images with random labels, each mirrored in half of the epochs."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(IMAGES, SIZE, SIZE, 3), dtype=np.uint8)
    pairs = tf.data.Dataset.from_tensor_slices((images, rng.integers(8, size=IMAGES)))
    return pairs.shuffle(IMAGES).map(_mirrored, num_parallel_calls=tf.data.AUTOTUNE)


def _mirrored(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.image.random_flip_left_right(tf.cast(image, tf.float32) / 255.0), label
