"""Tabular: 20 numbers and 12 categories by name, each an input of its own."""

import keras
import numpy as np
import tensorflow as tf

ROWS = 65_536
NUMBERS = [f"number_{index}" for index in range(20)]
CATEGORIES = {f"category_{index}": 10 * (index + 1) for index in range(12)}


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network that normalizes the numbers and embeds the categories."""
    numbers = {name: keras.Input((1,), name=name) for name in NUMBERS}
    categories = {name: keras.Input((1,), name=name, dtype="int32") for name in CATEGORIES}
    embedded = [
        keras.layers.Flatten()(keras.layers.Embedding(CATEGORIES[name], 8)(column))
        for name, column in categories.items()
    ]
    x = keras.layers.Concatenate()([*numbers.values(), *embedded])
    for _ in range(2):
        x = keras.layers.Dense(units, activation="relu")(keras.layers.BatchNormalization()(x))
    model = keras.Model({**numbers, **categories}, keras.layers.Dense(1)(x))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random rows as a dictionary of columns, with random labels."""
    rng = np.random.default_rng(0)
    numbers = {name: rng.standard_normal((ROWS, 1), dtype=np.float32) for name in NUMBERS}
    categories = {
        name: rng.integers(size, size=(ROWS, 1), dtype=np.int32)
        for name, size in CATEGORIES.items()
    }
    labels = rng.integers(2, size=(ROWS, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({**numbers, **categories}, labels))
