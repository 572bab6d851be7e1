"""Takes what a user's program validates with, so that it can be evaluated again and again."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.datasets import batches_of, read_by_python
from autotune.engine.child.once import reads_once
from autotune.engine.child.returned import has_validation
from autotune.errors import FactoryFailed


class Validation:
    """What a program validates with, once it has asked for what it trains on."""

    def __init__(self, program: ModuleType) -> None:
        self._program = program
        self._beside: Any = None
        self._dataset_fn = program.dataset_fn
        program.dataset_fn = self._noted  # type: ignore[attr-defined] # the program's own name

    def batches(self, training: tf.data.Dataset, *, size: int, most: int) -> tf.data.Dataset:
        """Return batches of it, evenly from all of it where there is more than enough."""
        data = self._of_script() if hasattr(self._program, "calls") else self._beside
        if data is None or reads_once(data):
            raise FactoryFailed(
                "The validation data ends with its first reading.",
                "Return arrays, a tf.data.Dataset or a keras.utils.PyDataset.",
            )
        if isinstance(data, tf.data.Dataset):
            batched = _rank(data.element_spec) == _rank(training.element_spec)
            return _evenly(data if batched else data.batch(size), most)
        if isinstance(data, keras.utils.PyDataset):
            return _evenly(read_by_python(data, shuffle=False), most)
        arrays = data if isinstance(data, (tuple, list)) else (data,)
        examples = batches_of(*arrays, batch_size=1, shuffle=False)
        return _evenly(examples, most).rebatch(size)

    def _noted(self, *arguments: Any, **options: Any) -> Any:
        made = self._dataset_fn(*arguments, **options)
        self._beside = made[1] if has_validation(made) else None
        return made

    def _of_script(self) -> Any:
        x, y, sample_weight = self._program.Validation(self._program.calls[-1]).data
        return x if y is None and sample_weight is None else (x, y, sample_weight)


def _rank(spec: Any) -> int | None:
    rank: int | None = tf.nest.flatten(spec)[0].shape.rank
    return rank


def _evenly(batches: tf.data.Dataset, most: int) -> tf.data.Dataset:
    """Return batches with about so many examples, in all; those between them are left out."""
    first = next(iter(batches.take(1)), None)
    if first is None:
        return batches
    needed = -(-most // max(int(tf.shape(tf.nest.flatten(first)[0])[0]), 1))
    return batches.shard(max(int(batches.cardinality()) // needed, 1), 0).take(needed)
