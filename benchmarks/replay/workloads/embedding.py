"""Embedding-heavy: 50,000 words of 32 numbers, of which a step touches few and moves many."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 16_384
WORDS = 50_000
LENGTH = 16


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile a bag of words with a binary output."""
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int32"),
            keras.layers.Embedding(WORDS, units),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="sgd", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random sentences with random labels."""
    rng = np.random.default_rng(0)
    words = rng.integers(WORDS, size=(EXAMPLES, LENGTH), dtype=np.int32)
    labels = rng.integers(2, size=(EXAMPLES, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((words, labels))
