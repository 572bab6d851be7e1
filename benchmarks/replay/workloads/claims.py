"""Insurance claims: many numbers and a few categories, on dense layers."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 65_536
NUMBERS = 64
CATEGORIES = 8
VALUES = 500


def model_fn(width: int = 256) -> keras.Model:
    """Build and compile dense layers over numbers and embedded categories."""
    numbers = keras.Input((NUMBERS,), name="numbers")
    categories = keras.Input((CATEGORIES,), dtype="int32", name="categories")
    embedded = keras.layers.Flatten()(keras.layers.Embedding(VALUES, 8)(categories))
    x = keras.layers.Concatenate()([keras.layers.BatchNormalization()(numbers), embedded])
    for _ in range(3):
        x = keras.layers.Dense(width, activation="relu")(x)
    model = keras.Model([numbers, categories], keras.layers.Dense(1)(x))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return claims, in random order, and whether each was paid."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((EXAMPLES, NUMBERS), dtype=np.float32)
    categories = rng.integers(0, VALUES, (EXAMPLES, CATEGORIES), dtype=np.int32)
    paid = rng.integers(0, 2, (EXAMPLES, 1)).astype(np.float32)
    inputs = {"numbers": numbers, "categories": categories}
    return tf.data.Dataset.from_tensor_slices((inputs, paid)).shuffle(EXAMPLES)
