"""Inspects what a dataset factory gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.engine.child import private
from autotune.engine.child.passes import (
    Progress,
    Stretch,
    pass_facts,
    read_pass,
    within,
)
from autotune.engine.child.repeatability import (
    Randomness,
    changes,
    frozen,
    holds_cache,
    prefetched,
    runs_python,
    tensors,
)
from autotune.engine.child.returned import BATCH, Taken
from autotune.engine.events import SAID
from autotune.errors import DatasetTooSmall, FactoryFailed
from autotune.shared_values import Change, Count

_TRIED = 8
"""Examples on which a model is tried."""
_APART = 16
"""Batches whose examples are batched together with those of others."""
_COUNTING_SECONDS = 5.0
_READING_SECONDS = 2.0
"""For a pass that need not be counted."""
MOST_SHARDS = 16
"""Workers that are tried."""


class Handed:
    """Stands for the parameter `cache` of a dataset factory, and takes note of what it is given."""

    def __init__(self) -> None:
        self._datasets: list[Any] = []

    def __call__(self, dataset: Any) -> Any:
        self._datasets.append(dataset)
        return dataset

    def facts(self, patience: float) -> list[dict[str, Any]]:
        if not all(isinstance(each, tf.data.Dataset) for each in self._datasets or [None]):
            raise FactoryFailed(
                "dataset_fn declares `cache`, but does not apply it to a dataset.",
                "Write `dataset = cache(dataset)` before what is random, or rename the parameter.",
            )
        return [_cacheable(each, patience) for each in self._datasets]


def _cacheable(dataset: Any, patience: float) -> dict[str, Any]:
    patience, first = min(patience, _COUNTING_SECONDS), _first(dataset)
    known = int(dataset.cardinality())
    if known == tf.data.UNKNOWN_CARDINALITY:
        counted = read_pass(dataset, patience, known, batched=False)
        known = _read(counted) if counted.done and counted.values else known
    return {
        "elements": known if known >= 0 else None,
        "element_bytes": 0 if first is None else _bytes(first),
        "change": changes(dataset, patience).change,
    }


def offered(handed: Handed) -> dict[str, Any]:
    """Return what a dataset factory gets if it declares it."""
    return {
        "cache": handed,
        "input_context": tf.distribute.InputContext(
            num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1
        ),
        "batch_size": BATCH,
        "num_parallel_calls": tf.data.AUTOTUNE,
    }


class InspectedDataset:
    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._dataset = taken.dataset
        self._first: Any = None
        self._shrinks = False

    def read_first(self) -> None:
        self._first = _first(self._dataset)
        if self._first is None:
            raise DatasetTooSmall(
                "dataset_fn returned an empty dataset.",
                "Check its file paths and filters."
                + (f" It was called with batch_size={BATCH}." if self._taken.batched else ""),
            )

    def check_rank(self, wanted: Sequence[int]) -> None:
        """Make sure that what should be single examples are no batches."""
        features = keras.utils.unpack_x_y_sample_weight(self._first)[0]
        found = tf.nest.flatten(features)
        if self._taken.batched or [len(each.shape) for each in found] != list(wanted):
            return
        raise FactoryFailed(
            f"dataset_fn's dataset yields batches of {found[0].shape[0]}, not single examples.",
            "Declare the parameter `batch_size` and batch by it, or let autotune take the batches "
            "apart (--unbatch).",
        )

    def few(self, size: int | None = None) -> Any:
        if self._taken.batched:
            return self._first
        try:
            self._batch_apart()
            return next(iter(self._dataset.take(size or _TRIED).batch(size or _TRIED)))
        except Exception as exc:
            raise FactoryFailed(
                f"The examples cannot be batched: {SAID}.",
                "Yield examples of equal shape, or declare batch_size and use padded_batch of that "
                "size; --unbatch needs batches that are padded to one length.",
            ) from exc

    def _batch_apart(self) -> None:
        """Batch examples of several of the user's batches together, where shapes may differ."""
        shapes = [each.shape for each in tf.nest.flatten(self._dataset.element_spec)]
        # A pass would fill a cache, which is timed empty and full.
        if all(each.is_fully_defined() for each in shapes) or _stages_of(self._dataset, 1)[0]:
            return
        own = self._taken.own_batch or _TRIED
        apart = self._dataset.take(_APART * own).batch(own + max(own // 2, 1))
        # Numbers instead of examples, which need not be held.
        if error := within(_READING_SECONDS, apart.map(lambda *_: 0)).error:
            raise error

    def facts(self, patience: float) -> dict[str, Any]:
        patience = min(patience, _COUNTING_SECONDS)
        size = self._taken.size
        cached, frozen_stage, python, ready = _stages_of(self._dataset, size)
        # First, because any other pass may fill a cache.
        read, counted = self._passes(patience)
        once = self._taken.once or self._shrinks
        found = Randomness(Change.EXAMPLES) if once else changes(self._dataset, patience)
        shards = file_shards(self._dataset, patience)
        # Without the size of batches: which are looked at may depend on the time that a look has.
        one = self._dataset.unbatch() if self._taken.batched else self._dataset
        uncertain = {"examples": not counted, "file_shards": not shards.done}
        return {
            "returned": self._taken.returned,
            "example_bytes": _bytes(self._first) // size,
            "element": str(_ordered(one.element_spec)),
            "python_input": python,
            "repeatable": found.change is Change.NOTHING,
            "random_stage": found.stage,
            "shuffle_buffer": found.shuffle,
            "file_shards": shards.values[-1] if shards.values else 0,
            "uncertain": [name for name, is_so in uncertain.items() if is_so],
            "cached": cached,
            "frozen_stage": frozen_stage,
            "prefetched": ready,
            **read,
        }

    def _passes(self, patience: float) -> tuple[dict[str, Any], bool]:
        """Return the number of examples, what reading them alone has shown, and if it is certain.

        A number that is not known is counted; the least that it can be, or None, if that takes too
        long.
        """
        known, taken = int(self._dataset.cardinality()), self._taken
        counting = known == tf.data.UNKNOWN_CARDINALITY
        seconds = patience if counting else min(patience, _READING_SECONDS)
        known = max(known, taken.least)
        first = self._pass(seconds, known)
        counted = first.done and counting
        examples = _read(first) if counted else known * taken.size if known >= 0 else None
        # Where a factory gives full batches only, its data may hold more.
        full = taken.batched and taken.every is None
        exact = (counted or not counting) and not full
        count = Count.EXACT if exact else Count.AT_LEAST
        found: dict[str, Any] = {"first_pass": pass_facts(first)}
        certain = bool(taken.examples) or not counting or first.done
        if first.done and not taken.once:
            second = self._pass(min(patience, _READING_SECONDS), known)
            found["second_pass"] = pass_facts(second)
            self._shrinks = second.done and _read(second) < _read(first)
            if counting and not _as_many(first, second):
                certain, count = False, Count.ABOUT
        if taken.examples:
            examples, count = taken.examples, Count.EXACT
        return {**found, "examples": examples, "count": count}, certain

    def _pass(self, patience: float, known: int) -> Progress[Stretch]:
        taken = self._taken
        read = taken.dataset if taken.every is None else taken.every
        return read_pass(read, patience, known, batched=taken.batched)


def _read(progress: Progress[Stretch]) -> int:
    return progress.values[-1].examples if progress.values else 0


def _as_many(first: Progress[Stretch], second: Progress[Stretch]) -> bool:
    """Whether a second pass gave as many elements as the first, as far as it came."""
    one, other = _read(first), _read(second)
    return one == other if second.done else other <= one


def _ordered(spec: Any) -> Any:
    """Return a spec with its dictionaries in the order of their keys, which Python may vary."""
    if isinstance(spec, dict):
        return {key: _ordered(spec[key]) for key in sorted(spec)}
    return tuple(map(_ordered, spec)) if type(spec) is tuple else spec


def _stages_of(dataset: Any, size: int) -> tuple[bool, str, bool, int]:
    try:
        cached, frozen_stage = holds_cache(dataset), frozen(dataset)
        return cached, frozen_stage, runs_python(dataset), prefetched(dataset, size)
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False, "", False, 0


def _first(dataset: Any) -> Any:
    try:
        return next(iter(dataset), None)
    except Exception as exc:
        raise FactoryFailed(
            f"The dataset failed on its first example: {SAID}.",
            "Fix dataset_fn so that you can iterate over its dataset.",
        ) from exc


def _bytes(element: Any) -> int:
    """Return the bytes of what tensors hold; strings are objects in numpy."""
    arrays = [np.asarray(each) for each in tensors(element)]
    return sum(sum(map(len, a.flat)) if a.dtype == object else int(a.nbytes) for a in arrays)


def file_shards(dataset: Any, patience: float) -> Progress[int]:
    """Return the numbers found in the time, up to the largest; none for a dataset without files."""
    shard = private.shard_by_files()
    if shard is None:
        return Progress((), done=True, error=None)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    return within(patience, _working_shards(shard, dataset.with_options(options)))


def _working_shards(shard: Any, dataset: Any) -> Iterator[int]:
    """Yield each number of workers for which the last one still gets an example."""
    for workers in range(2, MOST_SHARDS + 1):
        try:
            example = next(iter(shard(dataset, workers, workers - 1)), None)
        except tf.errors.NotFoundError:
            return  # It reads no files.
        except tf.errors.OpError:
            example = None  # It reads too few.
        if workers == 2:
            yield 1
        if example is None:
            return
        yield workers
