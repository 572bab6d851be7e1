"""What replicas are given to train on: sizes, structure, and which examples."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from autotune.run.child.bounded import within


class Readings:
    """Takes note of the batches of one replica."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._elements: dict[str, None] = {}
        self._examples: Counter[str] | None = Counter()

    def add(self, batch: Any) -> None:
        """Take note of a batch."""
        leaves = tf.nest.flatten(batch)
        self._elements[_described(batch, leaves)] = None
        if not all(isinstance(leaf, tf.Tensor) for leaf in leaves):
            self._examples = None
            return
        arrays = [leaf.numpy() for leaf in leaves]
        self._sizes.append(min(len(each) if each.ndim else 0 for each in arrays))
        if self._examples is not None:
            self._examples.update(fingerprints(arrays))

    def as_json(self) -> dict[str, Any]:
        """Return what was noted."""
        return {
            "sizes": self._sizes,
            "elements": list(self._elements),
            "examples": self._examples,
        }


def fingerprints(arrays: list[Any]) -> Iterator[str]:
    """Yield what tells each example of a batch from every other."""
    for example in zip(*arrays, strict=True):
        digest = hashlib.blake2b(digest_size=8)
        for part in example:
            digest.update(_bytes(part))
        yield digest.hexdigest()


def count_all(dataset: Any, seconds: float, *, batched: bool) -> dict[str, Any]:
    """Count the examples of a dataset, as far as the time lets one come.

    Args:
        dataset: What the factory returned.
        seconds: For how long.
        batched: Whether its elements are batches.
    """
    progress = within(seconds, _parts(dataset, batched=batched))
    counted: Counter[str] = Counter()
    for found in progress.values:
        counted.update(found)
    return {"examples": counted, "complete": progress.done}


def _parts(dataset: Any, *, batched: bool) -> Iterator[list[str]]:
    for element in dataset:
        arrays = [leaf.numpy() for leaf in tf.nest.flatten(element)]
        yield list(
            fingerprints(arrays if batched else [each[np.newaxis] for each in _arrays(arrays)])
        )


def _arrays(values: Iterable[Any]) -> list[Any]:
    """Return arrays also for scalars, which numpy gives as numbers or bytes."""
    return [np.asarray(each) for each in values]


def _bytes(part: Any) -> bytes:
    array = np.asarray(part)
    if array.dtype != object:
        return array.tobytes()
    return b"\0".join(bytes(each) for each in array.flat)


def _described(batch: Any, leaves: list[Any]) -> str:
    """Return structure, types and shapes of a batch, without its size."""
    specs = [f"{leaf.dtype.name} {[*leaf.shape[1:]]}" for leaf in leaves]
    return str(tf.nest.pack_sequence_as(batch, specs))
