"""The examples of this project, each with what validates it."""

import runpy
from pathlib import Path

import tensorflow as tf

EXAMPLES = Path(__file__).parents[2] / "examples"
VALIDATED = 512
"""Examples that validate an epoch."""
Pair = tuple[tf.data.Dataset, tf.data.Dataset]


def digits() -> Pair:
    """Return handwritten digits."""
    return _validated("digits")


def lstm() -> Pair:
    """Return sequences."""
    return _validated("lstm")


def wide_dense() -> Pair:
    """Return rows of numbers."""
    return _validated("wide_dense")


def python_input() -> Pair:
    """Return texts that Python makes."""
    return _validated("python_input")


def _validated(name: str) -> Pair:
    dataset: tf.data.Dataset = runpy.run_path(str(EXAMPLES / f"{name}.py"))["dataset_fn"]()
    return dataset, dataset.take(VALIDATED)
