"""A small training with fewer examples to validate with than a batch holds."""

import keras
import numpy as np
import tensorflow as tf


def model_fn() -> keras.Model:
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss, metrics=["accuracy"])
    return model


def dataset_fn() -> tuple[tf.data.Dataset, tf.data.Dataset]:
    rng = np.random.default_rng(0)
    x, y = rng.random((69, 8), "float32"), rng.integers(0, 3, 69)
    examples = tf.data.Dataset.from_tensor_slices((x, y))
    return examples.take(64), examples.skip(64)
