"""How well two texts of given words match: shared embeddings, and a network on both."""

import keras
import numpy as np
import tensorflow as tf

PAIRS = 16_384
WORDS = 12
VOCABULARY = 4_000


def model_fn(width: int = 32) -> keras.Model:
    """Build and compile an embedding of both texts and a network over their means."""
    texts = [keras.Input((WORDS,), dtype="int64", name=name) for name in ("one", "other")]
    embed = keras.layers.Embedding(VOCABULARY, width)
    means = [keras.layers.GlobalAveragePooling1D()(embed(text)) for text in texts]
    both = keras.layers.Dense(64, activation="relu")(keras.layers.Concatenate()(means))
    model = keras.Model(texts, keras.layers.Dense(1)(both))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random pairs with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    one, other = (rng.integers(VOCABULARY, size=(PAIRS, WORDS)) for _ in range(2))
    texts = {"one": one, "other": other}
    labels = rng.integers(2, size=(PAIRS, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((texts, labels)).shuffle(4_096)
