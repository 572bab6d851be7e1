"""A language model of letters: one transformer block that sees only what came before."""

import keras
import numpy as np
import tensorflow as tf

LETTERS = 96
LENGTH = 48
VERSES = 4096


def model_fn(units: int = 48) -> keras.Model:
    """Build and compile embeddings, causal attention and a dense layer for each letter."""
    letters = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(LETTERS, units)(letters)
    x += keras.layers.Embedding(LENGTH, units)(keras.ops.arange(LENGTH))
    normal = keras.layers.LayerNormalization()(x)
    heads = keras.layers.MultiHeadAttention(num_heads=4, key_dim=units // 4)
    x += heads(normal, normal, use_causal_mask=True)
    hidden = keras.layers.Dense(4 * units, activation="gelu")(keras.layers.LayerNormalization()(x))
    x += keras.layers.Dense(units)(hidden)
    model = keras.Model(letters, keras.layers.Dense(LETTERS)(keras.layers.LayerNormalization()(x)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.AdamW(3e-4), loss=loss)
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random letters, each with the one that follows."""
    rng = np.random.default_rng(0)
    text = rng.integers(LETTERS, size=(VERSES, LENGTH + 1), dtype=np.int32)
    return tf.data.Dataset.from_tensor_slices((text[:, :-1], text[:, 1:])).shuffle(VERSES)
