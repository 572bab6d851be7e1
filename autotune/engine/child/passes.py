"""Reads a dataset alone, to its end and on, as far as the time lets one come.

Work that blocks is given up after some time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Generic, NamedTuple, TypeVar

import tensorflow as tf

from autotune.engine.events import SAID
from autotune.errors import FactoryFailed

T = TypeVar("T")

_STRETCHES = 16
"""Of a pass at least, where its length is known: the first is compared with the others."""
_MOST_AT_ONCE = 8
_MANY_AT_ONCE = 64
"""Where their number is not known: to count them matters more."""


@dataclass(frozen=True)
class Progress(Generic[T]):
    values: tuple[T, ...]
    done: bool
    """Whether it came to its end by itself."""
    error: Exception | None
    """What ended it."""


def within(seconds: float, work: Iterable[T]) -> Progress[T]:
    """Take values from `work` until it ends, fails, or the time is over.

    It runs in a thread, which is left behind if it blocks; so this is for a process that ends soon.
    """
    values: list[T] = []
    errors: list[Exception] = []
    done = threading.Event()
    deadline = time.monotonic() + seconds

    def take() -> None:
        try:
            for value in work:
                if time.monotonic() > deadline:
                    return
                values.append(value)
        except Exception as exc:  # noqa: BLE001 - the caller sees it
            errors.append(exc)
        else:
            done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(seconds)
    return Progress(tuple(values), done.is_set(), errors[0] if errors else None)


class Stretch(NamedTuple):
    """Some examples of a pass."""

    examples: int
    """Read so far, these included."""
    seconds: float
    """Since the pass began."""


def read_pass(dataset: Any, patience: float, known: int, *, batched: bool) -> Progress[Stretch]:
    """Read a dataset once, as fast as it comes.

    Fewer and larger stretches leave its Python code more of the interpreter's time.
    """
    most = max(1, min(_MOST_AT_ONCE, known // _STRETCHES)) if known >= 0 else _MANY_AT_ONCE

    def measured(*element: Any) -> Any:
        # Numbers instead of examples: nothing but the dataset is to take time.
        return _rows(element) if batched else tf.constant(1, tf.int64)

    return read_within(patience, _stretches(dataset.map(measured).batch(most)))


def read_within(seconds: float, elements: Iterable[T]) -> Progress[T]:
    """Read a dataset as far as the time lets one come.

    Raises:
        FactoryFailed: It fails.
    """
    progress = within(seconds, elements)
    if progress.error is None:
        return progress
    raise FactoryFailed(
        f"The dataset failed while it was read: {SAID}.",
        "Fix dataset_fn so that you can iterate over its dataset.",
    ) from progress.error


def pass_facts(progress: Progress[Stretch]) -> dict[str, Any] | None:
    """Return what a pass has shown; None if not even its beginning."""
    if len(progress.values) < 2:
        return None
    last = progress.values[-1]
    return {
        "examples": last.examples,
        "seconds": last.seconds,
        "whole": progress.done,
        "pause": _pause(progress.values),
    }


def _stretches(measured: Any) -> Iterator[Stretch]:
    began, total = time.perf_counter(), 0
    for rows in measured:
        total += int(rows.numpy().sum())
        yield Stretch(total, time.perf_counter() - began)


def _pause(stretches: tuple[Stretch, ...]) -> float:
    """Return the time that the first elements took beyond that of others."""
    usual = median(after.seconds - before.seconds for before, after in pairwise(stretches))
    return max(stretches[0].seconds - usual, 0.0)


def _rows(element: Any) -> Any:
    """Return how many examples a batch has."""
    first = tf.nest.flatten(element)[0]
    if isinstance(first, tf.RaggedTensor):
        return tf.cast(first.nrows(), tf.int64)
    if isinstance(first, tf.SparseTensor):
        return first.dense_shape[0]
    return tf.shape(first, tf.int64)[0]
