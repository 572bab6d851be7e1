"""What differs between two passes over a dataset: by what its stages are, and by reading it."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from autotune.engine.child.dataset_graph import Randomness, randomness, runs_python
from autotune.engine.child.passes import successful
from autotune.engine.child.timeout import within
from autotune.plain import Change

_FEW = 64
"""Examples of each pass where no Python code adds to what the stages show."""
_SECONDS = 1.0
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
    one = successful(within(patience, _digests(dataset, _SECONDS))).values
    drawn = _python_state()
    other = successful(within(patience, _digests(dataset.take(len(one))))).values
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
