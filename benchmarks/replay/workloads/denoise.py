"""An autoencoder that learns to remove noise, which its input adds anew to every image."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 4096
SIDE = 28


def model_fn(filters: int = 8) -> keras.Model:
    """Build and compile two convolutions down and two up again."""
    down = {"strides": 2, "padding": "same", "activation": "relu"}
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            keras.layers.Conv2D(filters, 3, **down),
            keras.layers.Conv2D(2 * filters, 3, **down),
            keras.layers.Conv2DTranspose(filters, 3, **down),
            keras.layers.Conv2DTranspose(1, 3, strides=2, padding="same"),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return noisy random images with the same images without noise."""
    rng = np.random.default_rng(0)
    images = rng.random((IMAGES, SIDE, SIDE, 1), dtype=np.float32)
    pairs = tf.data.Dataset.from_tensor_slices(images)
    return pairs.map(_noisy, num_parallel_calls=num_parallel_calls)


def _noisy(image: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.image.random_flip_left_right(image)
    moved = tf.image.random_crop(tf.pad(image, [[2, 2], [2, 2], [0, 0]]), (SIDE, SIDE, 1))
    return moved + tf.random.normal((SIDE, SIDE, 1), stddev=0.2), moved
