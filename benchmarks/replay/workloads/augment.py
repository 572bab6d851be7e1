"""Input-bound by computation: every image is cropped, flipped, brightened and resized."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 1024


def model_fn(units: int = 16) -> keras.Model:
    """Build and compile a classifier that is cheap beside its input."""
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.AveragePooling2D(4),
            keras.layers.Flatten(),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return augmented random images with random labels."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(IMAGES, 96, 96, 3), dtype=np.uint8)
    pairs = tf.data.Dataset.from_tensor_slices((images, rng.integers(10, size=IMAGES)))
    return pairs.map(_augment, num_parallel_calls=num_parallel_calls)


def _augment(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.image.random_crop(image, (80, 80, 3))
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(tf.cast(image, tf.float32) / 255, 0.2)
    return tf.image.resize(image, (32, 32)), label
