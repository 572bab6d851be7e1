"""Input in pure Python, about 1 ms per example: the case where a cache is the remedy.

The features of each document are counted in a Python loop. The interpreter lock lets only one
thread of a process do that, so neither `num_parallel_calls` nor prefetching helps. A cache does:
the features are the same in every epoch and take 2 MB. Were they not, a second worker process would
nearly double the throughput, but only because the factory declares `input_context` and each worker
generates its own share; sharded at the end of the pipeline, every worker would generate all
examples and throw most of them away.

    autotune tune examples/python_input.py:model_fn examples/python_input.py:dataset_fn
"""

import zlib
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

DOCUMENTS = 2048
CHARACTERS = 1000
BUCKETS = 256
LANGUAGES = (b"etaaaaoinshrdlu", b"eeeetaoinshrdlu")


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile a small classifier, cheap beside its input."""
    model = keras.Sequential(
        [
            keras.Input((BUCKETS,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    return model


def dataset_fn(input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Return hashed character trigrams of made-up documents in one of two languages."""
    shards = input_context.num_input_pipelines if input_context is not None else 1
    shard = input_context.input_pipeline_id if input_context is not None else 0

    def examples() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        # Skipping here, before the work is done, is what makes a second worker worthwhile.
        for index in range(shard, DOCUMENTS, shards):
            text, language = document(index)
            yield trigrams(text), np.array([language], np.float32)

    signature = (tf.TensorSpec((BUCKETS,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return tf.data.Dataset.from_generator(examples, output_signature=signature)


def document(index: int) -> tuple[bytes, int]:
    """Make up a document; the languages differ only in how often they use two letters."""
    rng = np.random.default_rng(index)
    language = int(rng.integers(len(LANGUAGES)))
    letters = np.frombuffer(LANGUAGES[language], np.uint8)
    return rng.choice(letters, CHARACTERS).tobytes(), language


def trigrams(text: bytes) -> np.ndarray:
    """Count the trigrams per bucket, scaled to a mean of one."""
    counts = [0] * BUCKETS
    for start in range(len(text) - 2):
        # Not hash(): it differs from process to process, so workers would disagree.
        counts[zlib.crc32(text[start : start + 3]) % BUCKETS] += 1
    return np.array(counts, np.float32) * (BUCKETS / len(text))
