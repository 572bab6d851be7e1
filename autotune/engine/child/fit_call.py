"""The call of `fit` as a script has made it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from autotune.calls import MethodCall
from autotune.engine.child.once import ReadOnce, reads_once

LEFT_OUT = (
    # They end a training, which in a trial the tuner does,
    keras.callbacks.EarlyStopping,
    keras.callbacks.TerminateOnNaN,
    # or leave something behind, which would be that of a trial.
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.RemoteMonitor,
    keras.callbacks.TensorBoard,
)
_BATCH_HOOKS = (
    *("on_train_batch_begin", "on_train_batch_end"),
    *("on_batch_begin", "on_batch_end"),
)


class FitCall:
    """What an inspection asks of a call; from now on, data that can be read once is kept."""

    def __init__(self, call: Any) -> None:
        if reads_once(call.x):
            call.x = ReadOnce(call.x)
        self._call = call
        self._callbacks = listed(call.callbacks)
        # Keras does not ask for the size of batches where it is given batches.
        self._batch = int(_batch_of(call.x) or call.batch_size or 32)  # of Keras

    def facts(self, line: int | None, fits: Sequence[MethodCall]) -> dict[str, Any]:
        """Return what is known of it beside model and data."""
        arrays = _kind_of(self._call.x) == "arrays"
        return {
            "usual_batch": max(min(self._batch, self._rows()), 1) if arrays else self._batch,
            "examples": self._examples_of_arrays() if arrays else self._examples_of_batches(),
            "batch_callbacks": batch_callbacks(self._callbacks),
            "fit": self._facts(line, [each for each in fits if each.line != line]),
        }

    def _facts(self, line: int | None, others: Sequence[MethodCall]) -> dict[str, Any]:
        call = self._call
        left_out = [each for each in self._callbacks if isinstance(each, LEFT_OUT)]
        return {
            "line": line,
            "data": _kind_of(call.x),
            "epochs": int(call.epochs) - int(call.initial_epoch),
            "steps": call.steps_per_epoch and int(call.steps_per_epoch),
            "partial": call.steps_per_epoch is None and _may_be_partial(call.x),
            "callbacks": bool(self._callbacks),
            "left_out": [type(each).__name__ for each in left_out],
            "others": [{"line": each.line, "of": ast.unparse(each.receiver)} for each in others],
            "alone": min((each.line for each in others), default=None),
        }

    def _rows(self) -> int:
        return int(self._call.training_rows())

    def _examples_of_arrays(self) -> int:
        # An epoch ends with the data.
        return min(int(self._call.steps_per_epoch or 0) * self._batch or self._rows(), self._rows())

    def _examples_of_batches(self) -> int | None:
        limits = int(self._call.steps_per_epoch or 0), _batches_of(self._call.x)
        steps = min(filter(None, limits), default=None)
        return None if steps is None else steps * self._batch


def listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]


def batch_callbacks(callbacks: Sequence[Any]) -> list[str]:
    """Return the classes of callbacks that do something before or after a batch, each once."""
    return list(dict.fromkeys(type(each).__name__ for each in callbacks if _in_batches(each)))


def _in_batches(callback: Any) -> bool:
    """Whether a callback of the user's own does something before or after a batch."""
    kind = type(callback)
    if kind.__module__.startswith("keras.") and kind is not keras.callbacks.LambdaCallback:
        return False
    usual = keras.callbacks.Callback
    return any(
        hook in vars(callback) or getattr(kind, hook, None) is not getattr(usual, hook)
        for hook in _BATCH_HOOKS
    )


def _batches_of(data: Any) -> int | None:
    """Return how many batches an epoch has as far as Keras knows."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches and int(data.num_batches)
    known = int(data.cardinality()) if isinstance(data, tf.data.Dataset) else 0
    return known if known > 0 else None


def _may_be_partial(data: Any) -> bool:
    """Whether the last batch of an epoch may be smaller than the others."""
    if not isinstance(data, tf.data.Dataset):
        return _kind_of(data) != "arrays"
    shapes = [each.shape for each in tf.nest.flatten(data.element_spec)]
    return any(each.rank is None or each[0] is None for each in shapes)


def _kind_of(data: Any) -> str:
    # It needs pydantic, which no process that trains should have.
    from autotune.workload import FitData  # noqa: PLC0415 - see above

    if isinstance(data, tf.data.Dataset):
        return FitData.DATASET
    if isinstance(data, keras.utils.PyDataset):
        return FitData.PY_DATASET
    return FitData.GENERATOR if reads_once(data) else FitData.ARRAYS


def _batch_of(data: Any) -> int | None:
    """Return the size of the batches that data consists of."""
    if isinstance(data, ReadOnce):
        return data.batch
    if isinstance(data, keras.utils.PyDataset):
        return _length(data[0])
    if not isinstance(data, tf.data.Dataset):
        return None
    shape = tf.nest.flatten(data.element_spec)[0].shape
    if shape.rank and shape[0]:
        return int(shape[0])
    first = next(iter(data.take(1)), None)
    return None if first is None else _length(first)


def _length(batch: Any) -> int:
    return int(tf.shape(keras.tree.flatten(batch)[0])[0])
