"""A recurrent text classifier whose sentences are cleaned and looked up as they are read."""

import keras
import numpy as np
import tensorflow as tf

REVIEWS = 4096
LENGTH = 40
WORDS = 3_000


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile an embedding and one LSTM with a binary output."""
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int64"),
            keras.layers.Embedding(WORDS, units),
            keras.layers.LSTM(units),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="rmsprop", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return made-up reviews as numbers of words, each with its verdict."""
    rng = np.random.default_rng(0)
    lexicon = np.array([f"word{number}" for number in range(2, WORDS)])
    texts = [" ".join(rng.choice(lexicon, LENGTH)).capitalize() + "!" for _ in range(REVIEWS)]
    verdicts = rng.integers(2, size=(REVIEWS, 1)).astype(np.float32)
    vectorize = keras.layers.TextVectorization(output_sequence_length=LENGTH, vocabulary=lexicon)

    def numbered(text: tf.Tensor, verdict: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return vectorize(text), verdict

    pairs = tf.data.Dataset.from_tensor_slices((texts, verdicts)).shuffle(REVIEWS)
    return pairs.map(numbered, num_parallel_calls=num_parallel_calls)
