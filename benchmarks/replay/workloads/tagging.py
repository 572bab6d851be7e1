"""A tag for each word: a bidirectional LSTM over sentences that are split by a lookup table."""

import keras
import numpy as np
import tensorflow as tf

SENTENCES = 6144
LENGTH = 24
WORDS = 2_000
TAGS = 12


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile the network, which masks what is padded."""
    model = keras.Sequential(
        [
            keras.Input((LENGTH,), dtype="int64"),
            keras.layers.Embedding(WORDS, units, mask_zero=True),
            keras.layers.Bidirectional(keras.layers.LSTM(units, return_sequences=True)),
            keras.layers.Dense(TAGS),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random sentences of 8 to 24 words, as numbers, with a tag for each word."""
    rng = np.random.default_rng(0)
    lexicon = np.array([f"word{number}" for number in range(1, WORDS)])
    lengths = rng.integers(8, LENGTH + 1, size=SENTENCES)
    sentences = [" ".join(rng.choice(lexicon, length)) for length in lengths]
    tags = rng.integers(TAGS, size=(SENTENCES, LENGTH), dtype=np.int64)
    numbers = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(lexicon, np.arange(1, WORDS)), default_value=0
    )

    def split(sentence: tf.Tensor, tagged: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        words = numbers.lookup(tf.strings.split(sentence))
        padded = tf.pad(words, [[0, LENGTH - tf.shape(words)[0]]])
        return tf.ensure_shape(padded, (LENGTH,)), tagged

    lines = tf.data.Dataset.from_tensor_slices((sentences, tags)).shuffle(SENTENCES)
    return lines.map(split, num_parallel_calls=num_parallel_calls)
