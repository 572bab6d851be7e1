"""A model that waits for its input: a generator that takes 10 ms per example.

A step on 32 examples takes a millisecond or two and its input 320, so a second replica would only
wait as well: sharded at its end, this dataset runs its whole generator in every worker. The input
has to change first: read several sources at once, or let each worker generate only its own
examples, as `python_input.py` does.

    autotune tune examples/slow_generator.py:model_fn examples/slow_generator.py:dataset_fn
"""

import time
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network with one small hidden layer."""
    model = keras.Sequential(
        [
            keras.Input((100,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random numbers, labelled by the largest of ten linear projections."""
    signature = (tf.TensorSpec((100,), tf.float32), tf.TensorSpec((), tf.int64))
    return tf.data.Dataset.from_generator(examples, output_signature=signature)


def examples() -> Iterator[tuple[np.ndarray, np.int64]]:
    """Yield 1,000 examples, each after a wait such as a remote store would cause."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((1_000, 100), dtype=np.float32)
    labels = (numbers @ rng.standard_normal((100, 10))).argmax(axis=1)
    for example in zip(numbers, labels, strict=True):
        time.sleep(0.010)
        yield example
