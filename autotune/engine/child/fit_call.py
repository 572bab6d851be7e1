"""The call of `fit` as a script has made it."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from autotune.engine.child.once import ReadOnce, reads_once
from autotune.engine.child.returned import length_of
from autotune.shared_values import Count

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
_BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")


class _Data(NamedTuple):
    """What Keras knows of the data that a `fit` is given."""

    kind: str
    batch: int | None = None
    """Examples in the batches that it consists of."""
    batches: int | None = None
    """Of an epoch."""
    partial: bool = True
    """Whether some batch, such as the last of an epoch, may be smaller than the others."""


def facts_of(call: Any) -> dict[str, Any]:
    """Return the facts of a call beside model and data.

    From now on, data that can be read once is kept.
    """
    if reads_once(call.x):
        call.x = ReadOnce(call.x)
    data, callbacks = _data(call.x), call.all_callbacks(validates=False)
    # Keras does not ask for the size of batches where it is given batches.
    batch = int(data.batch or call.batch_size or 32)  # of Keras
    steps = int(call.steps_per_epoch or 0)
    if data.kind == "arrays":  # An epoch ends with the data.
        rows = int(call.training_rows())
        usual = max(min(batch, rows), 1)
        examples: int | None = min(steps * batch or rows, rows)
    else:
        fewest = min(filter(None, (steps, data.batches)), default=None)
        usual, examples = batch, fewest and fewest * batch
    return {
        "usual_batch": usual,
        "examples": examples,
        "count": Count.AT_MOST if data.partial else Count.EXACT,
        "batch_callbacks": batch_callbacks(callbacks),
        "fit": {
            "data": data.kind,
            "epochs": int(call.epochs) - int(call.initial_epoch),
            "steps": call.steps_per_epoch and int(call.steps_per_epoch),
            "batches": data.batches and min(steps or data.batches, data.batches),
            "callbacks": bool(callbacks),
            "may_stop": any(map(_may_stop, callbacks)),
            "left_out": [type(each).__name__ for each in callbacks if isinstance(each, LEFT_OUT)],
        },
    }


def batch_callbacks(callbacks: Sequence[Any]) -> list[str]:
    """Return the classes of callbacks that do something before or after a batch, each once."""
    return list(dict.fromkeys(type(each).__name__ for each in callbacks if _in_batches(each)))


def _in_batches(callback: Any) -> bool:
    kind = type(callback)
    if kind.__module__.startswith("keras.") and kind is not keras.callbacks.LambdaCallback:
        return False
    usual = keras.callbacks.Callback
    return any(
        hook in vars(callback) or getattr(kind, hook, None) is not getattr(usual, hook)
        for hook in _BATCH_HOOKS
    )


def _may_stop(callback: Any) -> bool:
    """Return whether a callback ends a training before its last epoch, as far as its class tells.

    One that ends what has failed does not count.
    """
    if isinstance(callback, keras.callbacks.EarlyStopping):
        return True
    kinds = (each for each in type(callback).__mro__ if not each.__module__.startswith("keras."))
    held = [each for holder in (callback, *kinds) for each in vars(holder).values()]
    codes = (each.__code__ for each in held if isinstance(each, FunctionType))
    return any("stop_training" in each.co_names for each in codes)


def _data(data: Any) -> _Data:
    # It needs pydantic, which no process that trains should have.
    from autotune.workload import FitData  # noqa: PLC0415 - see above

    if isinstance(data, tf.data.Dataset):
        shapes = [each.shape for each in tf.nest.flatten(data.element_spec)]
        known = int(data.cardinality())
        return _Data(
            FitData.DATASET,
            _batch_of(data, shapes[0]),
            known if known > 0 else None,
            partial=any(not each.rank or each[0] is None for each in shapes),
        )
    if isinstance(data, keras.utils.PyDataset):
        batches = data.num_batches and int(data.num_batches)
        return _Data(FitData.PY_DATASET, length_of(data[0]), batches)
    if isinstance(data, ReadOnce):
        return _Data(FitData.GENERATOR, data.batch)
    return _Data(FitData.ARRAYS, partial=False)


def _batch_of(dataset: Any, shape: Any) -> int | None:
    if shape.rank and shape[0]:
        return int(shape[0])
    first = next(iter(dataset.take(1)), None)
    return None if first is None else length_of(first)
