"""Retrieval by two towers: users and items, each embedded and narrowed, judged by their product."""

import keras
import numpy as np
import tensorflow as tf

SEEN = 131_072
USERS = 20_000
ITEMS = 8_000


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile the two towers, whose embeddings hold most of the parameters."""
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    users, items = _tower(USERS, units)(user), _tower(ITEMS, units)(item)
    model = keras.Model((user, item), keras.layers.Dot(axes=1)([users, items]))
    model.compile(optimizer="adagrad", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random pairs of users and items, half of them seen, in random order."""
    rng = np.random.default_rng(0)
    users = rng.integers(USERS, size=SEEN, dtype=np.int32)
    items = rng.integers(ITEMS, size=SEEN, dtype=np.int32)
    labels = rng.integers(2, size=(SEEN, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(((users, items), labels)).shuffle(SEEN)


def _tower(rows: int, units: int) -> keras.Model:
    layers = [
        keras.layers.Embedding(rows, units),
        keras.layers.Dense(2 * units, activation="relu"),
        keras.layers.Dense(units),
    ]
    return keras.Sequential([keras.Input((), dtype="int32"), *layers])
