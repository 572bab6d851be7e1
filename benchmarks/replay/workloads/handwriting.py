"""A small convolutional network whose own layers move and turn the images that it is given."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 8192
SIDE = 28
CLASSES = 10


def model_fn(filters: int = 12) -> keras.Model:
    """Build and compile augmentation, two convolutions with pooling, and a classifier."""
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            keras.layers.RandomTranslation(0.1, 0.1),
            keras.layers.Conv2D(filters, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(2 * filters, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(CLASSES),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random images with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    images = rng.random((IMAGES, SIDE, SIDE, 1), dtype=np.float32)
    labels = rng.integers(CLASSES, size=IMAGES)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(IMAGES)
