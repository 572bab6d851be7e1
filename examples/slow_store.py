"""A training script that waits for its data: the start of the tutorial.

A store gives one window of a signal in 10 ms, at random, so nothing can be cached.

    autotune tune examples/slow_store.py
"""

import time
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

EXAMPLES, LENGTH = 2048, 128


def window(index: int) -> tuple[np.ndarray, int]:
    """Ask the store for a random window of a signal, and whether that is a fast one."""
    time.sleep(0.01)  # stands for the store, which serves each process one request at a time
    start, fast = np.random.default_rng().uniform(0, 1), index % 2
    times = np.linspace(start, start + 1, LENGTH)
    return np.sin(times * (40 if fast else 30)).astype(np.float32), fast


def examples(first: int = 0, every: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the examples, or a share of them."""
    for index in range(first, EXAMPLES, every):
        yield window(index)


def network() -> keras.Model:
    """Build and compile a small network."""
    layers = [keras.Input((LENGTH,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(2)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


SPEC = (tf.TensorSpec((LENGTH,), tf.float32), tf.TensorSpec((), tf.int32))

if __name__ == "__main__":
    dataset = tf.data.Dataset.from_generator(examples, output_signature=SPEC)
    network().fit(dataset.batch(32).prefetch(2), epochs=2)
