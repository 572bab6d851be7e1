"""Runs a user's script for the sake of its `fit` alone.

The program's text stays as it is. Its function `run_script` is handed other trainings: one that
ends with the `fit` that is tuned, and for every other `fit` one that takes a single step.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import keras
import tensorflow as tf

from autotune.calls import MethodCall
from autotune.engine.child.callback_times import batch_callbacks
from autotune.engine.child.network import network_noted
from autotune.engine.child.once import ReadOnce, lasting, reads_once
from autotune.engine.child.own_strategy import own_strategies_noted
from autotune.engine.child.receivers import Receivers
from autotune.engine.child.scratch import MayNotChange, working_copy
from autotune.engine.failure import ERROR
from autotune.errors import ScriptFailed

Train = Callable[[Any], None]
NEVER = 2**62
"""Epochs between validations that a trial leaves out."""
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
_KERAS_FIT = keras.Model.fit


class FitReached(BaseException):
    """The script has done what it was run for; no `except Exception` of its own stops this."""


class OwnLoopReached(BaseException):
    """The script trains without `fit`; as above, nothing of its own stops this.

    Args:
        told: What the user is told.
    """

    def __init__(self, told: ScriptFailed) -> None:
        super().__init__(str(told))
        self.told = told


def end_with_fit(program: ModuleType) -> None:
    """Have a program end its script with the `fit` that is tuned, and every other `fit` soon."""
    program.run_script = wraps(program.run_script)(partial(_train_only, program))  # type: ignore[attr-defined] # its own name


def _train_only(program: ModuleType, train: Train) -> None:
    failures: list[Exception] = []

    def train_and_leave(call: Any) -> None:
        before = _Before(call)
        call.validation_freq = NEVER
        call.callbacks = [before, *_kept(call.callbacks), _After(before)]
        if reads_once(call.x):
            call.x = lasting(call.x)
        try:
            train(call)
        except Exception as exc:  # noqa: BLE001 - the script might take it for its own
            failures.append(exc)

    with _copied(program) as copy:
        _run(program, train_and_leave, copy)
    if failures:
        raise failures[0]


class _Before(keras.callbacks.Callback):  # type: ignore[misc] # of Keras, which has no types
    """Stands before the callbacks of a script, and gives them what a trial leaves out."""

    def __init__(self, call: Any) -> None:
        super().__init__()
        self._validates = call.validation_data is not None or call.validation_split
        self.stops = False

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Have the training's own figures stand for those of the validation, which is not timed."""
        self.stops = self.model.stop_training
        if logs is not None and self._validates:
            logs.update({f"val_{name}": value for name, value in logs.items()})


class _After(keras.callbacks.Callback):  # type: ignore[misc] # as above
    """Stands behind the callbacks of a script, which may not end a trial."""

    def __init__(self, before: _Before) -> None:
        super().__init__()
        self._before = before

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Go on as long as the tuner does."""
        self.model.stop_training = self._before.stops


@contextmanager
def fit_reached(program: ModuleType) -> Iterator[dict[str, Any]]:
    """Run a script up to its `fit`, and give what is known of the call beside model and data.

    Its data may be files that it has written, so its copy of the working folder lasts as long.

    Raises:
        ScriptFailed: It does not come to it, or in a way that cannot be tuned.
    """
    with _copied(program) as copy:
        yield _reach_fit(program, copy)


def _reach_fit(program: ModuleType, copy: Path) -> dict[str, Any]:
    # It needs pydantic, which no process that trains should have.
    from autotune.workload.training import (  # noqa: PLC0415 - see above
        OwnLoop,
        fits_elsewhere,
        own_loop,
    )

    found: dict[str, Any] = {}
    others: set[int] = set()
    tree = ast.parse(program.text_of_script())

    receivers = Receivers(tree, program, others)

    def note(call: Any) -> None:
        frame = sys._getframe()  # noqa: SLF001 - who has called tells the line
        line = next(iter(program.lines_of(frame)), None)
        found["fit"] = _fit_facts(receivers.fits_of_keras(frame), call, line)
        found.update(_facts(call))
        found["batch_callbacks"] = batch_callbacks(_listed(call.callbacks))

    def check(method: str) -> None:
        """Leave a script that trains by a loop of its own, and comes to no `fit`."""
        frame = sys._getframe()  # noqa: SLF001 - as above
        if receivers.fits_of_keras(frame) or fits_elsewhere(program.SCRIPT, tree):
            return
        line = program.lines_of(frame)[0]
        raise OwnLoopReached(own_loop(program.SCRIPT, program.SCRIPT, OwnLoop(line, method)))

    with (
        _told_as_mistakes(),
        _strategies_noted(program) as built,
        _eagerness_noted(program) as eager,
        own_strategies_noted(program) as own,
        network_noted(program) as connecting,
        _updates_checked(check),
    ):
        _run(program, note, copy, others)
    found["fit"]["eager"] = eager[-1] if eager else None
    found["fit"]["own_strategy"] = max(own, key=lambda each: bool(each["title"]), default=None)
    found["fit"]["network"] = next(iter(connecting), None)
    found["fit"]["backend"] = os.environ.get("KERAS_BACKEND")
    if type(program.calls[-1].model.distribute_strategy) is not type(tf.distribute.get_strategy()):
        raise ScriptFailed(
            f"The script makes a strategy{_at(built)} whose place no other can take.",
            "Remove it, or make a MirroredStrategy: autotune tries others in the place of that.",
        )
    return found


@contextmanager
def _copied(program: ModuleType) -> Iterator[Path]:
    """Have a script work, and stand, in a copy of the working folder."""
    with working_copy(Path(program.__file__ or "").parent) as copy:
        # What the script finds from its own place, and writes there, lies in the copy as well.
        program.SCRIPT = copy.counterpart(program.SCRIPT)  # type: ignore[attr-defined] # its own name
        yield copy.path


def _run(program: ModuleType, train: Train, copy: Path, others: set[int] | None = None) -> None:
    """Run a script for the sake of its `fit`, and leave it there.

    Args:
        program: Runs the script.
        train: Is given the call.
        copy: The folder that it works in.
        others: Takes in the lines of every other `fit` that it comes to.
    """
    others = set() if others is None else others
    reached = False

    def train_and_leave(call: Any) -> NoReturn:
        nonlocal reached
        train(call)
        reached = True
        raise FitReached

    try:
        inspect.unwrap(program.run_script)(
            train_and_leave, partial(_one_step, program, copy, others)
        )
    except BaseException:
        if not reached:
            raise
    # A script may take what ends it for an error of its own, and go on.
    if not reached:
        raise _without_fit(program, others)


def _without_fit(program: ModuleType, others: set[int]) -> ScriptFailed:
    if program.FIT is not None:
        # It needs pydantic, which no process that trains should have.
        from autotune.workload.script import choice, fit_calls  # noqa: PLC0415 - see above

        return ScriptFailed(
            f"The script has come to no fit of Keras in line {program.FIT}.",
            choice(fit_calls(program.SCRIPT), others),
        )
    return ScriptFailed(
        "The script ended without the call of fit that is to be tuned.",
        "If it trains by a loop of its own, put model and data into a model_fn and a dataset_fn, "
        "and pass these; if only with arguments, pass them behind --.",
    )


def _one_step(
    program: ModuleType, copy: Path, others: set[int], *arguments: Any, **options: Any
) -> Any:
    """Train for one step, so that what comes later finds a model that was trained."""
    others.update(program.lines_of(sys._getframe())[:1])  # noqa: SLF001 - as above
    given = dict(vars(program.Call(*arguments, **options)))
    given |= {"epochs": given["initial_epoch"] + 1, "steps_per_epoch": 1}
    if given["validation_data"] is not None or given["validation_split"]:
        given["validation_steps"] = 1
    given["callbacks"] = [
        each
        for each in _listed(given["callbacks"])
        # The script may load what was saved.
        if not isinstance(each, LEFT_OUT) or _saves_into(copy, each)
    ]
    return _KERAS_FIT(**_as_fit_takes_it(given))


def _saves_into(folder: Path, callback: Any) -> bool:
    if not isinstance(callback, keras.callbacks.ModelCheckpoint):
        return False
    return Path(callback.filepath).resolve().is_relative_to(folder)


def _as_fit_takes_it(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"self" if name == "model" else name: value for name, value in given.items()}


def _facts(call: Any) -> dict[str, Any]:
    if reads_once(call.x):
        call.x = ReadOnce(call.x)
    # Keras does not ask for the size of batches where it is given batches.
    batch = int(_batch_of(call.x) or call.batch_size or 32)  # of Keras
    asked = int(call.steps_per_epoch or 0)
    if _kind_of(call.x) == "arrays":
        rows = call.training_rows()
        # An epoch ends with the data.
        examples = min(asked * batch or rows, rows)
        return {"usual_batch": max(min(batch, rows), 1), "examples": examples}
    steps = min(filter(None, [asked, _batches_of(call.x)]), default=None)
    return {"usual_batch": batch, "examples": None if steps is None else steps * batch}


def _batches_of(data: Any) -> int | None:
    """Return how many batches an epoch has as far as Keras knows."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches and int(data.num_batches)
    known = int(data.cardinality()) if isinstance(data, tf.data.Dataset) else 0
    return known if known > 0 else None


def _fit_facts(fits: Sequence[MethodCall], call: Any, line: int | None) -> dict[str, Any]:
    callbacks = _listed(call.callbacks)
    left_out = [type(each).__name__ for each in callbacks if isinstance(each, LEFT_OUT)]
    others = [each for each in fits if each.line != line]
    return {
        "line": line,
        "data": _kind_of(call.x),
        "epochs": int(call.epochs) - int(call.initial_epoch),
        "steps": call.steps_per_epoch and int(call.steps_per_epoch),
        "partial": call.steps_per_epoch is None and _may_be_partial(call.x),
        "callbacks": bool(callbacks),
        "left_out": left_out,
        "others": [{"line": each.line, "of": ast.unparse(each.receiver)} for each in others],
        "alone": min((each.line for each in others), default=None),
    }


def _may_be_partial(data: Any) -> bool:
    """Whether the last batch of an epoch may be smaller than the others."""
    if not isinstance(data, tf.data.Dataset):
        return _kind_of(data) != "arrays"
    shapes = [each.shape for each in tf.nest.flatten(data.element_spec)]
    return any(each.rank is None or each[0] is None for each in shapes)


def _kind_of(data: Any) -> str:
    # It needs pydantic, which no process that trains should have.
    from autotune.workload.script import FitData  # noqa: PLC0415 - see above

    if isinstance(data, tf.data.Dataset):
        return FitData.DATASET
    if isinstance(data, keras.utils.PyDataset):
        return FitData.PY_DATASET
    return FitData.GENERATOR if hasattr(data, "__next__") else FitData.ARRAYS


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


def _kept(callbacks: Any) -> list[Any]:
    return [each for each in _listed(callbacks) if not isinstance(each, LEFT_OUT)]


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]


@contextmanager
def _told_as_mistakes() -> Iterator[None]:
    """Turn whatever keeps a script from its `fit` into an error that says what to do."""
    refuse = argparse.ArgumentParser.error
    argparse.ArgumentParser.error = _refuse  # type: ignore[method-assign,assignment] # put back below
    try:
        yield
    except ScriptFailed:
        raise
    except OwnLoopReached as exc:
        raise exc.told from None
    except SystemExit as exc:
        raise other_backend(
            ScriptFailed(
                f"The script ends before its fit: {ERROR}.",
                "Have it come to its fit, or choose another fit by --fit.",
            )
        ) from exc
    except EOFError as exc:
        raise ScriptFailed(
            f"The script reads standard input before its fit: {ERROR}.",
            "Let it take the value from its command line, and pass it behind --.",
        ) from exc
    except MayNotChange as exc:
        raise ScriptFailed(
            f"The script writes into its working folder by a full path: {ERROR}.",
            "Have it take the path from its working folder or its __file__.",
        ) from exc
    except Exception as exc:
        raise other_backend(
            ScriptFailed(
                f"The script raised {ERROR} before its fit.", "Check that it runs by itself."
            )
        ) from exc
    finally:
        argparse.ArgumentParser.error = refuse  # type: ignore[method-assign] # as it was


def other_backend(failed: ScriptFailed) -> ScriptFailed:
    """Return an error that says where Keras does not compute with what the script asks for."""
    asked = os.environ.get("KERAS_BACKEND", keras.backend.backend())
    if asked == keras.backend.backend():
        return failed
    return ScriptFailed(
        f"{failed.cause} It asks for Keras's backend {asked}, which was replaced by TensorFlow: "
        "that is the likely cause.",
        "tf.distribute needs TensorFlow: check that it runs with KERAS_BACKEND=tensorflow.",
    )


def _refuse(_: argparse.ArgumentParser, message: str) -> NoReturn:
    raise ScriptFailed(
        f"The script does not accept its command line: {message}.",
        "Pass what it needs behind --: autotune tune train.py -- ARGUMENTS.",
    )


@contextmanager
def _strategies_noted(program: ModuleType) -> Iterator[list[int]]:
    """Give the lines of the script that make strategies."""
    lines: list[int] = []
    begin = tf.distribute.Strategy.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        lines.extend(program.lines_of(sys._getframe(1))[:1])  # noqa: SLF001 - as above
        begin(self, *arguments, **options)

    tf.distribute.Strategy.__init__ = noted
    try:
        yield lines
    finally:
        tf.distribute.Strategy.__init__ = begin


@contextmanager
def _eagerness_noted(program: ModuleType) -> Iterator[list[int]]:
    """Give the lines of the script that ask for eager execution, of a model or of everything."""
    lines: list[int] = []
    kept, functions = keras.Model.run_eagerly, tf.config.run_functions_eagerly

    def note(run_eagerly: Any) -> None:
        if run_eagerly:
            lines.extend(program.lines_of(sys._getframe(2))[:1])  # noqa: SLF001 - as above

    def set_for_model(model: Any, run_eagerly: Any) -> None:
        note(run_eagerly)
        kept.fset(model, run_eagerly)

    def set_for_all(run_eagerly: Any) -> None:
        note(run_eagerly)
        functions(run_eagerly)

    keras.Model.run_eagerly = property(kept.fget, set_for_model)
    tf.config.run_functions_eagerly = set_for_all
    try:
        yield lines
    finally:
        del keras.Model.run_eagerly
        tf.config.run_functions_eagerly = functions


@contextmanager
def _updates_checked(check: Callable[[str], None]) -> Iterator[None]:
    """Have each update that is none of a `fit` checked, by the name of its method."""
    methods = [(keras.Model, "train_on_batch")]
    methods += [(keras.Optimizer, name) for name in ("apply_gradients", "apply")]

    def checked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def update(*arguments: Any, **options: Any) -> Any:
            if not _is_in_fit():
                check(name)
            return method(*arguments, **options)

        return update

    own = {(of, name): vars(of).get(name) for of, name in methods}
    for of, name in methods:
        setattr(of, name, checked(name, getattr(of, name)))
    try:
        yield
    finally:
        for (of, name), method in own.items():
            setattr(of, name, method) if method else delattr(of, name)


def _is_in_fit() -> bool:
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not _one_step.__code__:
        frame = frame.f_back
    return frame is not None


def _at(lines: list[int]) -> str:
    return f" in line {lines[-1]}" if lines else ""
