"""Layers of Keras augment before a cache for training, and after it as they should."""

from functools import partial

import tensorflow as tf
from tensorflow.keras import layers

augment = tf.keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.2)])


def prepared(rows, training, scale):
    rows = rows.map(lambda image, label: (image / scale, label))
    if training:
        rows = rows.map(lambda image, label: (augment(image, training=True), label))
    rows = rows.cache()  # random-before-cache
    return rows.batch(32)


def cropped(image, label, size):
    seed = tf.random.uniform([2], maxval=1000, dtype=tf.int32)
    return tf.image.stateless_random_crop(image, [size, size, 3], seed), label


rows = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 32, 32, 3)), tf.zeros((64,))))
train, held_out = prepared(rows, True, 255.0), prepared(rows, False, 255.0)
small = (
    rows.map(partial(cropped, size=8))
    .cache()  # random-before-cache
    .prefetch(2)
)
right = rows.cache().map(partial(cropped, size=8))
