"""A text classifier: two heads of attention over 64 words, of sentences that lie in memory."""

import keras
import numpy as np
import tensorflow as tf

SENTENCES = 8192
WORDS = 5_000
LENGTH = 64


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile one block of a transformer with a binary output."""
    words = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(WORDS, units)(words)
    x += keras.layers.Embedding(LENGTH, units)(keras.ops.arange(LENGTH))
    heads = keras.layers.MultiHeadAttention(num_heads=2, key_dim=units // 2)
    x = keras.layers.LayerNormalization()(x + heads(x, x))
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(units, activation="relu")(x))
    x = keras.layers.GlobalAveragePooling1D()(x)
    model = keras.Model(words, keras.layers.Dense(1)(x))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random sentences with random labels, shuffled anew in each epoch."""
    rng = np.random.default_rng(0)
    words = rng.integers(WORDS, size=(SENTENCES, LENGTH), dtype=np.int32)
    labels = rng.integers(2, size=(SENTENCES, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((words, labels)).shuffle(SENTENCES)
