"""A classifier of JPEG images, which are decoded, made smaller and flipped at random."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 2048
STORED = 96
SIDE = 48
CLASSES = 10


def model_fn(filters: int = 16) -> keras.Model:
    """Build and compile three separable convolutions of a growing number of filters."""
    model = keras.Sequential([keras.Input((SIDE, SIDE, 3)), keras.layers.Rescaling(1 / 255)])
    for size in (filters, 2 * filters, 4 * filters):
        model.add(
            keras.layers.SeparableConv2D(size, 3, strides=2, padding="same", activation="relu")
        )
        model.add(keras.layers.BatchNormalization())
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(CLASSES))
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random images from their encoded bytes, with random labels."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(256, size=(IMAGES, 12, 12, 3), dtype=np.uint8)
    encoded = [
        tf.io.encode_jpeg(image.repeat(STORED // 12, axis=0).repeat(STORED // 12, axis=1)).numpy()
        for image in coarse
    ]
    labels = rng.integers(CLASSES, size=IMAGES, dtype=np.int64)

    def decode(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        decoded = tf.image.decode_jpeg(image, channels=3)
        return tf.image.resize(decoded, (SIDE, SIDE)), label

    def flip(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.image.random_flip_left_right(image), label

    files = tf.data.Dataset.from_tensor_slices((encoded, labels))
    decoded = files.map(decode, num_parallel_calls=num_parallel_calls)
    return decoded.map(flip, num_parallel_calls=num_parallel_calls)
