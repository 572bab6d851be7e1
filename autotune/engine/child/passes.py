"""Reads a dataset alone, to its end and on, as far as the time lets one come.

Work that blocks is given up after some time.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

from autotune.engine.events import SAID
from autotune.errors import FactoryFailed

T = TypeVar("T")
Length = Callable[..., Any]

_STRETCHES = 16
"""Of a pass at least, where its length is known: the first is compared with the others."""
_MOST_AT_ONCE = 8
_MANY_AT_ONCE = 64
"""Where to read many matters more: to count them, or to use up what was ready."""


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
    length: int
    """Of all that was read so far; 0 where elements are of one length."""
    squares: float
    """Of the mean length in each element, summed over its examples."""


_NOTHING = Stretch(0, 0.0, 0, 0.0)


def read_pass(
    dataset: Any, patience: float, known: int, *, batched: bool, again: bool = False
) -> Progress[Stretch]:
    """Read a dataset once, or again and again, as fast as it comes.

    Fewer and larger stretches leave its Python code more of the interpreter's time.
    """
    most = _MANY_AT_ONCE if again else _MOST_AT_ONCE
    at_once = max(1, min(most, known // _STRETCHES)) if known >= 0 else _MANY_AT_ONCE
    # Numbers instead of examples, and made before: nothing but the dataset is to take time.
    length = length_in(dataset.element_spec, batched=batched)

    def measured(*element: Any) -> Any:
        return tf.stack([_rows(element) if batched else 1, length(*element)])

    read = dataset.repeat() if again else dataset
    return read_within(patience, _stretches(read.map(measured).batch(at_once)))


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
        **_lengths(progress.values),
    }


def _stretches(measured: Any) -> Iterator[Stretch]:
    batches = iter(measured)
    began, total, length, squares = time.perf_counter(), 0, 0, 0.0
    for batch in batches:
        rows, lengths = batch.numpy().T
        total += int(rows.sum())
        length += int(lengths.sum())
        squares += float(np.sum(np.square(lengths) / np.maximum(rows, 1)))
        yield Stretch(total, time.perf_counter() - began, length, squares)


def _lengths(stretches: Sequence[Stretch]) -> dict[str, Any]:
    """Return what a pass has shown of lengths; nothing where all are alike."""
    last = stretches[-1]
    if not last.length:
        return {}
    read = np.diff([(each.length, each.examples) for each in (_NOTHING, *stretches)], axis=0)
    parts = np.array_split(read, min(_STRETCHES, len(read)))
    means = [float(part[:, 0].sum() / part[:, 1].sum()) for part in parts]
    mean = last.length / last.examples
    variance = last.squares / last.examples - mean**2
    if variance <= 1e-9 * mean**2:
        return {}
    return {"lengths": means, "length_scatter": math.sqrt(variance) / mean}


def backlog_facts(passes: Sequence[Progress[Stretch]], epoch: int | None) -> dict[str, Any] | None:
    """Return what passes have shown that was ready before the first; None where nothing was.

    Examples then come faster than they can go on coming, however often the dataset begins anew.
    The stretches in which it does are left out: a shuffle refills there.
    """
    # Not at the top: a trial's process does without pydantic.
    from autotune.workload.backlog import backlog_of  # noqa: PLC0415

    most = epoch or math.inf
    curve = [(0.0, 0.0)]
    for before, after in (pair for one in passes for pair in pairwise((_NOTHING, *one.values))):
        if (before.examples - 1) // most == (after.examples - 1) // most:
            more, took = after.examples - before.examples, after.seconds - before.seconds
            curve.append((curve[-1][0] + more, curve[-1][1] + took))
    backlog = backlog_of(curve)
    return backlog.model_dump() if backlog else None


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


def length_in(spec: Any, *, batched: bool) -> Length:
    """Return a function of an element that gives the length of its first component that varies.

    Of a batch it is that of all its examples together, padding included; 0 where nothing varies.
    """
    for index, each in enumerate(tf.nest.flatten(spec)):
        length = _length(each, batched=batched)
        if length is not None:
            return lambda *element: length(tf.nest.flatten(element)[index])
    return lambda *_: tf.constant(0, tf.int64)


def _length(spec: Any, *, batched: bool) -> Length | None:
    if isinstance(spec, tf.RaggedTensorSpec):
        return lambda ragged: tf.shape(ragged.flat_values, tf.int64)[0]
    if not isinstance(spec, tf.TensorSpec) or spec.shape.rank is None:
        return None
    unknown = [axis for axis, size in enumerate(spec.shape) if size is None]
    varying = [axis for axis in unknown if axis or not batched]
    axes = [0, *varying] if batched else varying
    if not varying:
        return None
    return lambda dense: tf.reduce_prod(tf.gather(tf.shape(dense, tf.int64), axes))
