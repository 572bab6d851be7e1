"""What differs between two passes over a dataset: by what its stages are, and by reading it."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from autotune.engine.child import private
from autotune.engine.child.passes import read_within
from autotune.shared_values import Change

_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_DRAWS = re.compile(
    r"(?!Stateless)(.*Random(?!Index)|Rng|Stateful(Uniform|Standard|Truncated)|.*TruncatedNormal"
    r"|Multinomial|SampleDistorted|ShuffleDataset|ShuffleAndRepeat|Assign.*Variable)"
)
"""Operations that give something else in every pass. Who assigns a variable counts or draws."""
_EACH = frozenset({"Map", "ParallelMap", "Prefetch", "Options", "Filter", "AssertCardinality"})
"""Stages to which the order of their examples is nothing."""
_MANY = frozenset({"FlatMap", "Interleave", "ParallelInterleave", "Shuffle", "Cache"})
"""Those that make of examples in another order others in another order."""


class Randomness(NamedTuple):
    """What differs between two passes by what the stages are."""

    change: Change = Change.NOTHING
    stage: str = ""
    """The last one that draws."""
    shuffle: int = 0
    """The buffer of the shuffle that is the only such stage and behind which each example stands
    for itself; 0 for any other."""


def runs_python(dataset: Any) -> bool:
    return any(not _PYTHON.isdisjoint(_ops(each)) for each in _stages(dataset))


def holds_cache(dataset: Any) -> bool:
    """Return whether a pass reads from a cache what the first one has left there."""
    return any(private.kind_of(each) == "Cache" for each in _stages(dataset))


def frozen(dataset: Any) -> str:
    """Return a stage below a cache that draws what the cache then keeps, but for an order."""
    caches = (each for each in _stages(dataset) if private.kind_of(each) == "Cache")
    below = (stage for cache in caches for stage in _stages(cache) if _draws(stage))
    return next((name for each in below if (name := private.kind_of(each)) != "Shuffle"), "")


def prefetched(dataset: Any, size: int) -> int:
    """Return the examples that the stages of a dataset may hold ready, where they have a number."""
    total = 0
    for stage in _stages(dataset):
        size = 1 if "Batch" in private.kind_of(stage) else size
        if private.kind_of(stage) == "Prefetch":
            total += private.buffer_of(stage) * size
    return total


def randomness(dataset: Any) -> Randomness:
    """Return what differs between two passes, if Python code does not add to it."""
    stages = [*_stages(dataset)]
    random = [each for each in stages if _draws(each)]
    if not random:
        return Randomness()
    names, last = {private.kind_of(each) for each in random}, random[0]
    above = {private.kind_of(each) for each in stages[: stages.index(last)]}
    if names != {"Shuffle"} or not _chained(dataset, random[-1]):
        return Randomness(Change.EXAMPLES, private.kind_of(last))
    alone = len(random) == 1 and above <= _EACH
    buffer = private.buffer_of(last) if alone else 0
    return Randomness(Change.ORDER, private.kind_of(last), buffer)


def _chained(dataset: Any, last: Any) -> bool:
    """Whether nothing up to a stage makes other examples of another order."""
    while dataset is not last:
        sources = private.sources_of(dataset)
        if private.kind_of(dataset) not in _EACH | _MANY or len(sources) != 1:
            return False
        dataset = sources[0]
    return True


def _draws(stage: Any) -> bool:
    if private.kind_of(stage) == "Shuffle":
        return not private.keeps_order(stage)
    return private.kind_of(stage) == "Random" or any(_DRAWS.match(op) for op in _ops(stage))


def _stages(dataset: Any) -> Iterator[Any]:
    yield dataset
    for source in private.sources_of(dataset):
        yield from _stages(source)


def _ops(stage: Any) -> Iterator[str]:
    for function in private.functions_of(stage):
        graph = function.function.graph.as_graph_def()
        yield from (node.op for node in graph.node)
        for inner in graph.library.function:
            yield from (node.op for node in inner.node_def)


_FEW = 64
"""Examples of each pass where no Python code adds to what the stages show."""
_SECONDS = 0.5
"""Of the first pass where some does."""
_END = b"end"
_WORSE = (Change.NOTHING, Change.ORDER, Change.EXAMPLES)


def changes(dataset: Any, patience: float) -> Randomness:
    """Return what differs between two passes over a dataset, and the stage that makes it."""
    try:
        found, opaque = randomness(dataset), runs_python(dataset)
    except AttributeError:  # Private: where TensorFlow has changed, only reading tells.
        found, opaque = Randomness(), True
    if not opaque and found.change is not Change.NOTHING:
        return found
    seen = _read_twice(dataset if opaque else dataset.take(_FEW), patience)
    return found if _WORSE.index(seen) <= _WORSE.index(found.change) else Randomness(seen)


def tensors(element: Any) -> list[Any]:
    flat: list[Any] = tf.nest.flatten(element, expand_composites=True)
    return [each.numpy() for each in flat]


def _read_twice(dataset: Any, patience: float) -> Change:
    one = read_within(patience, _digests(dataset, _SECONDS)).values
    drawn = _python_state()
    other = read_within(patience, _digests(dataset.take(len(one)))).values
    shown = min(len(one), len(other))
    if _python_state() != drawn:
        # Python code goes on with one sequence of random numbers, however rarely it draws.
        return Change.EXAMPLES
    if shown and one[:shown] == other[:shown]:
        return Change.NOTHING
    whole = _END in one and Counter(one) == Counter(other)
    return Change.ORDER if whole else Change.EXAMPLES


def _python_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 - the user's


def _digests(dataset: Any, seconds: float = math.inf) -> Iterator[bytes]:
    """Yield what each element is known by, and at the end of the dataset that it is one."""
    deadline = time.monotonic() + seconds
    for element in dataset:
        arrays = [np.asarray(each) for each in tensors(element)]
        # By their bytes, so that one NaN equals another.
        parts = [(a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in arrays]
        yield hashlib.sha256(pickle.dumps(parts)).digest()
        if time.monotonic() > deadline:
            return
    yield _END
