"""MobileNetV2 on small images: some 2,000 operations, which take tens of seconds to trace."""

import keras
import numpy as np
import tensorflow as tf

IMAGES = 2_048
SIZE = 32


def model_fn() -> keras.Model:
    """Build and compile the network of Keras, with no weights of anybody."""
    model = keras.applications.MobileNetV2(
        input_shape=(SIZE, SIZE, 3), weights=None, classes=10, classifier_activation=None
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random images with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    images = rng.random((IMAGES, SIZE, SIZE, 3), dtype=np.float32)
    pairs = tf.data.Dataset.from_tensor_slices((images, rng.integers(10, size=IMAGES)))
    return pairs.shuffle(IMAGES)
