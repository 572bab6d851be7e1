"""Inspects what a dataset factory gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from autotune.errors import DatasetTooSmall, FactoryFailed
from autotune.run.child.autotuned_values import leaves_numbers
from autotune.run.child.passes import pass_facts, read_pass
from autotune.run.child.timeout import Progress, within
from autotune.run.failure import ERROR

T = TypeVar("T")

BATCH = 32
"""Given to a factory that batches by itself."""
_TRIED = 8
"""Examples on which a model is tried."""
_COMPARED = 64
"""Examples that two passes are compared by."""
_COUNTING_SECONDS = 5.0
_READING_SECONDS = 2.0
"""For a pass that need not be counted."""
_PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
MOST_SHARDS = 16
"""Workers that are tried."""


def offered() -> dict[str, Any]:
    """Return what a dataset factory gets if it declares it."""
    return {
        "input_context": tf.distribute.InputContext(
            num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1
        ),
        "batch_size": BATCH,
        "num_parallel_calls": tf.data.AUTOTUNE,
    }


class InspectedDataset:
    """Checks a dataset and describes it.

    Args:
        dataset: What the factory returned.
        batched: Whether the factory batches by itself.

    Raises:
        WorkloadError: It is no dataset of examples.
    """

    def __init__(self, dataset: Any, *, batched: bool) -> None:
        if not isinstance(dataset, tf.data.Dataset):
            raise FactoryFailed(
                f"dataset_fn returned a {type(dataset).__name__}, not a tf.data.Dataset.",
                "Return a dataset, for example tf.data.Dataset.from_tensor_slices(...).",
            )
        spec = dataset.element_spec
        if not isinstance(spec, tuple) or len(spec) not in (2, 3):
            raise FactoryFailed(
                f"dataset_fn returned a dataset of {_description(spec)}.",
                "Yield (features, labels) or (features, labels, sample_weights).",
            )
        if batched and not _has_static_batch(spec):
            raise FactoryFailed(
                "dataset_fn declares batch_size, but its batches may vary in size.",
                "Use batch(batch_size, drop_remainder=True).",
            )
        self._dataset = dataset
        self._batched = batched
        self._first: Any = None

    def read_first(self) -> None:
        """Read one element.

        Raises:
            WorkloadError: There is none, or reading it fails.
        """
        self._first = _first(iter(self._dataset))
        if self._first is None:
            raise DatasetTooSmall(
                "dataset_fn returned an empty dataset.",
                "Check its file paths and filters."
                + (f" It was called with batch_size={BATCH}." if self._batched else ""),
            )

    def few(self) -> Any:
        """Return a batch of a few examples.

        Raises:
            WorkloadError: The examples do not fit into one batch.
        """
        if self._batched:
            return self._first
        try:
            return next(iter(self._dataset.take(_TRIED).batch(_TRIED)))
        except Exception as exc:
            raise FactoryFailed(
                f"The examples cannot be batched: {ERROR}.",
                "Yield examples of equal shape, or declare batch_size and use padded_batch with "
                "drop_remainder=True.",
            ) from exc

    def facts(self, patience: float) -> dict[str, Any]:
        """Return what is known of the dataset.

        Args:
            patience: Seconds that each look may take.
        """
        patience = min(patience, _COUNTING_SECONDS)
        return {
            "example_bytes": _bytes(self._first) // (BATCH if self._batched else 1),
            "element": str(self._dataset.element_spec),
            "python_input": runs_python(self._dataset),
            "automatic": leaves_numbers(self._dataset),
            "repeatable": self._repeatable(patience),
            "file_shards": file_shards(self._dataset, patience),
            "cached": holds_cache(self._dataset),
            "prefetched": prefetched(self._dataset, BATCH if self._batched else 1),
            # Last, because a pass that is given up goes on in its thread for a moment.
            **self._passes(patience),
        }

    def _passes(self, patience: float) -> dict[str, Any]:
        """Return the number of examples, and what reading them alone has shown.

        A number that is not known is counted; None if that takes too long.
        """
        known, size = int(self._dataset.cardinality()), BATCH if self._batched else 1
        counting = known == tf.data.UNKNOWN_CARDINALITY
        seconds = patience if counting else min(patience, _READING_SECONDS)
        first = _successful(read_pass(self._dataset, seconds, known))
        if first.done and counting:
            known = first.values[-1].elements if first.values else 0
        found = {"first_pass": pass_facts(first, size)}
        if first.done:
            again = _successful(read_pass(self._dataset, min(patience, _READING_SECONDS), known))
            found["second_pass"] = pass_facts(again, size)
        return {"examples": known * size if known >= 0 else None, **found}

    def _repeatable(self, patience: float) -> bool:
        """Whether two passes agree, as far as they get in the time."""
        few = self._dataset.take(_COMPARED // BATCH if self._batched else _COMPARED)
        pairs = zip(few, few, strict=False)
        same = _successful(within(patience, (_equal(one, other) for one, other in pairs)))
        return bool(same.values) and all(same.values)


def _first(elements: Iterator[Any]) -> Any:
    try:
        return next(elements, None)
    except Exception as exc:
        raise FactoryFailed(
            f"The dataset failed on its first example: {ERROR}.",
            "Fix dataset_fn so that you can iterate over its dataset.",
        ) from exc


def _successful(progress: Progress[T]) -> Progress[T]:
    if progress.error is None:
        return progress
    raise FactoryFailed(
        f"The dataset failed while it was read: {ERROR}.",
        "Fix dataset_fn so that you can iterate over its dataset.",
    ) from progress.error


def _has_static_batch(spec: Any) -> bool:
    shapes = [getattr(each, "shape", None) for each in tf.nest.flatten(spec)]
    return all(shape is not None and shape.rank and shape[0] is not None for shape in shapes)


def _description(spec: Any) -> str:
    if isinstance(spec, tuple):
        return f"tuples of {len(spec)}"
    return "dictionaries" if isinstance(spec, dict) else "single tensors"


def _tensors(element: Any) -> list[Any]:
    flat: list[Any] = tf.nest.flatten(element, expand_composites=True)
    return [each.numpy() for each in flat]


def _bytes(element: Any) -> int:
    return sum(_size(value) for value in _tensors(element))


def _size(value: Any) -> int:
    """Return the bytes of what a tensor holds; strings are objects in numpy."""
    array = np.asarray(value)
    if array.dtype != object:
        return int(array.nbytes)
    return sum(len(text) for text in array.flat)


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(_tensors(one), _tensors(other), strict=True)
    return all(_same(np.asarray(a), np.asarray(b)) for a, b in pairs)


def _same(one: Any, other: Any) -> bool:
    if one.dtype == object:
        return bool(np.array_equal(one, other))
    # By their bytes, so that one NaN equals another.
    return bool(one.shape == other.shape and one.tobytes() == other.tobytes())


def holds_cache(dataset: Any) -> bool:
    """Return whether a pass reads from a cache what the first one has left there."""
    return any("Cache" in type(each).__name__ for each in _stages(dataset))


def prefetched(dataset: Any, size: int) -> int:
    """Return the examples that the stages of a dataset may hold ready, where they have a number.

    Args:
        dataset: What the factory returned.
        size: Examples in one of its elements.
    """
    total = 0
    for stage in _stages(dataset):
        kind = type(stage).__name__
        size = 1 if "Batch" in kind else size
        if "Prefetch" in kind:
            # Private, as are the names of the classes: where they have changed, nothing is seen.
            number = getattr(stage, "_buffer_size", None)
            total += max(int(number), 0) * size if number is not None else 0
    return total


def _stages(dataset: Any) -> Iterator[Any]:
    """Yield a dataset and those that it reads from, the last one first."""
    yield dataset
    for source in getattr(dataset, "_inputs", list)():
        yield from _stages(source)


def runs_python(dataset: Any) -> bool:
    """Return whether a generator, `py_function` or `numpy_function` is part of the dataset."""
    try:
        return any(node.op in _PYTHON_OPS for node in _nodes(dataset))
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False


def _nodes(dataset: Any) -> Iterator[Any]:
    """Yield the operations of all functions of the dataset and of those that it reads from."""
    for function in dataset._functions():  # noqa: SLF001 - see above
        graph: tf.compat.v1.GraphDef = function.function.graph.as_graph_def()
        yield from graph.node
        for inner in graph.library.function:
            yield from inner.node_def
    for source in dataset._inputs():  # noqa: SLF001 - see above
        yield from _nodes(source)


def file_shards(dataset: Any, patience: float) -> int:
    """Return the largest number found in the time; 0 if the dataset does not read files."""
    try:
        # Private: no public function tells, and where it is missing nothing is promised.
        from tensorflow.python.data.experimental.ops.distribute import (  # noqa: PLC0415
            _AutoShardDataset,
        )
    except ImportError:
        return 0
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    found = within(patience, _working_shards(_AutoShardDataset, dataset.with_options(options)))
    return found.values[-1] if found.values else 0


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
