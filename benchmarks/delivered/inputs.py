"""Inputs whose first seconds tell little of what a training sustains, and those of the examples.

Each comes with what validates it.
"""

import runpy
import time
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBERS = 64
VALIDATED = 512
"""Examples that validate an epoch."""
Pair = tuple[tf.data.Dataset, tf.data.Dataset]
SIGNATURE = (tf.TensorSpec((NUMBERS,), tf.float32), tf.TensorSpec((), tf.int64))


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network with one small hidden layer."""
    model = keras.Sequential(
        [
            keras.Input((NUMBERS,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def pausing() -> Pair:
    """Return 2,000 examples a second in 0.7 s of each second, and none in the other 0.3 s."""

    def generate() -> Iterator[tuple[np.ndarray, np.int64]]:
        for example in _paced(4096, per_second=2000):
            rest = 0.3 - time.monotonic() % 1.0
            if rest > 0:
                time.sleep(rest)
            yield example

    return _with_validation(tf.data.Dataset.from_generator(generate, output_signature=SIGNATURE))


def refilling() -> Pair:
    """Return what a shuffle buffer gives that takes a second to fill in each epoch."""

    def generate() -> Iterator[tuple[np.ndarray, np.int64]]:
        yield from _paced(6144, per_second=4000)

    source = tf.data.Dataset.from_generator(generate, output_signature=SIGNATURE)
    return _with_validation(source.shuffle(4096))


def kept() -> Pair:
    """Return examples that a slow source gives once; from then on they are in memory."""

    def generate() -> Iterator[tuple[np.ndarray, np.int64]]:
        yield from _paced(4096, per_second=1500)

    source = tf.data.Dataset.from_generator(generate, output_signature=SIGNATURE)
    return _with_validation(source.cache())


def costly() -> Pair:
    """Return examples that a map computes slowly, the same ones in each epoch."""
    numbers, labels = _examples(4096)
    pairs = tf.data.Dataset.from_tensor_slices((numbers, labels))
    return _with_validation(pairs.map(_compute, num_parallel_calls=2))


def ramping() -> Pair:
    """Return examples of a source that needs some seconds to come to its 3,000 a second."""
    began: list[float] = []

    def generate() -> Iterator[tuple[np.ndarray, np.int64]]:
        # Once for the whole training, whatever epoch this is.
        began[:] = began or [time.monotonic()]
        for example in _ready(2048):
            reached = 1 - 0.8 * np.exp((began[0] - time.monotonic()) / 2.0)
            time.sleep(1 / (3000 * reached))
            yield example

    return _with_validation(tf.data.Dataset.from_generator(generate, output_signature=SIGNATURE))


def draining() -> Pair:
    """Return 6,000 examples at once, which were fetched before, and then 1,500 a second."""
    due: list[float] = []

    def generate() -> Iterator[tuple[np.ndarray, np.int64]]:
        # Once for the whole training, whatever epoch this is.
        due[:] = due or [time.monotonic() - 4.0]
        for example in _ready(2048):
            due[0] += 1 / 1500
            time.sleep(max(due[0] - time.monotonic(), 0.0))
            yield example

    return _with_validation(tf.data.Dataset.from_generator(generate, output_signature=SIGNATURE))


def example(name: str) -> Pair:
    """Return the data of an example, validated by a part of them."""
    dataset: tf.data.Dataset = runpy.run_path(str(EXAMPLES / f"{name}.py"))["dataset_fn"]()
    return dataset, dataset.take(VALIDATED)


def _with_validation(dataset: tf.data.Dataset) -> Pair:
    return dataset, tf.data.Dataset.from_tensor_slices(_examples(VALIDATED))


def _compute(numbers: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    square = tf.tensordot(numbers, numbers, 0)
    for _ in range(12):
        square = tf.linalg.matmul(square, square) / tf.norm(square)
    return numbers + square[0], label


def _paced(count: int, *, per_second: float) -> Iterator[tuple[np.ndarray, np.int64]]:
    due = time.monotonic()
    for example in _ready(count):
        # What was not asked for in time is lost, but for some hundredths of a second.
        due = max(due, time.monotonic() - 0.05) + 1 / per_second
        time.sleep(max(due - time.monotonic(), 0.0))
        yield example


def _ready(count: int) -> Iterator[tuple[np.ndarray, np.int64]]:
    yield from zip(*_examples(count), strict=True)


def _examples(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((count, NUMBERS), dtype=np.float32)
    return numbers, rng.integers(10, size=count)
