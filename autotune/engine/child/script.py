"""Runs a user's script for the sake of its `fit` alone.

The program's text stays as it is. What runs its script is handed other trainings: one that
ends with the `fit` that is tuned, and for every other `fit` one that takes a single step.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial, wraps
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

import keras
import tensorflow as tf

from autotune.engine.child.dataset import ReadOnce, lasting, length_of, reads_once
from autotune.engine.child.surroundings import (
    MayNotChange,
    ScriptNotes,
    line_here,
    patched,
    working_copy,
)
from autotune.engine.events import SAID
from autotune.errors import ScriptFailed
from autotune.shared_values import Count

Train = Callable[[Any], None]
NEVER = 2**62
"""Epochs between validations that a trial leaves out."""
_KERAS_FIT = keras.Model.fit
_PLACES = {
    keras.callbacks.BackupAndRestore: "backup_dir",
    keras.callbacks.CSVLogger: "filename",
    keras.callbacks.ModelCheckpoint: "filepath",
    keras.callbacks.TensorBoard: "log_dir",
}
"""Callbacks that write, each with the attribute that says where."""
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WITHOUT_KERAS = {
    *("__main__", "builtins", "sklearn", "imblearn", "xgboost", "lightgbm", "catboost"),
    *("statsmodels", "scipy", "torch"),
}
"""Packages whose own classes have a `fit` that calls none of Keras."""


class FitReached(BaseException):
    """The script has done what it was run for; no `except Exception` of its own stops this."""


class OwnLoopReached(BaseException):
    """The script trains without `fit`, as its error says; as above, nothing stops this."""


def end_with_fit(program: ModuleType, *, validates: bool = False) -> None:
    """Have a program end its script with the `fit` that is tuned, and every other `fit` soon."""
    script = program.script
    script.run = wraps(script.run)(partial(_train_only, program, validates))


def _train_only(program: ModuleType, validates: bool, train: Train, **methods: Any) -> None:  # noqa: FBT001 - bound
    def saves(callback: Any) -> bool:
        return isinstance(callback, keras.callbacks.ModelCheckpoint) and run.keeps(callback)

    def prepare_and_train(call: Any) -> None:
        before = _Before(call, validates=validates)
        call.validation_freq = 1 if validates else NEVER
        # Where the validation is timed, what is saved in the copy is timed as well.
        own = call.all_callbacks(validates=False)
        kept = [e for e in own if not isinstance(e, LEFT_OUT) or (validates and saves(e))]
        call.callbacks = [before, *kept, _After(before)]
        if reads_once(call.x):
            call.x = lasting(call.x)
        train(call)

    with run_in_copy(program) as run:
        run.to_fit(prepare_and_train, **methods)


class _Before(keras.callbacks.Callback):  # type: ignore[misc] # of Keras, which has no types
    """Stands before the callbacks of a script, and gives them what a trial leaves out."""

    def __init__(self, call: Any, *, validates: bool) -> None:
        super().__init__()
        asked = call.validation_data is not None or call.validation_split
        self._stands_in = asked and not validates
        self.stops = False

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Have the training's own figures stand for those of the validation, which is not timed."""
        self.stops = self.model.stop_training
        if logs is not None and self._stands_in:
            logs.update({f"val_{name}": value for name, value in logs.items()})


class _After(keras.callbacks.Callback):  # type: ignore[misc] # as above
    """Stands behind the callbacks of a script, which may not end a trial."""

    def __init__(self, before: _Before) -> None:
        super().__init__()
        self._before = before

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self.model.stop_training = self._before.stops


class _FirstCall(keras.callbacks.Callback):  # type: ignore[misc] # as above
    """Ends a `fit` after its first call of the step, and its validation after the first of that."""

    def __init__(self, made: Callable[[], None]) -> None:
        super().__init__()
        self._made = made

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._made()
        self.model.stop_training = True

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self.model.stop_evaluating = True


@contextmanager
def fit_reached(program: ModuleType, number: int | None = None) -> Iterator[dict[str, Any]]:
    """Run a script up to its `fit`, and give the facts of the call beside model and data.

    Its data may be files that it has written, so its copy of the working folder lasts as long.
    """
    found: dict[str, Any] = {}
    with run_in_copy(program, number) as run:
        notes = come_to_fit(program, run, lambda call: found.update(run.facts_of(call)))
        if is_distributed(program.script.call.model):
            where = f" in line {notes.strategies[-1]}" if notes.strategies else ""
            raise ScriptFailed(
                f"The script makes a strategy{where} whose place no other can take.",
                "Remove it, or make a MirroredStrategy: autotune tries others in its place.",
            )
        found["fit"] |= beside_fit(notes)
        yield found


def beside_fit(notes: ScriptNotes) -> dict[str, Any]:
    """Return what is known of a script beside its `fit`, as the facts of that have it."""
    return {
        "eager": notes.eager[-1] if notes.eager else None,
        "own_strategy": max(notes.own_strategies, key=lambda e: bool(e["title"]), default=None),
        "network": next(iter(notes.network), None),
        "backend": os.environ.get("KERAS_BACKEND"),
    }


def is_distributed(model: Any) -> bool:
    return type(model.distribute_strategy) is not type(tf.distribute.get_strategy())


def come_to_fit(program: ModuleType, run: _Run, train: Train) -> ScriptNotes:
    """Run a script up to its `fit`, have `train` take the call, and return what was noted.

    Raises:
        WorkloadError: It does not come there, or `train` fails.
    """
    # It needs pydantic, which no process that trains should have.
    from autotune.workload.script import fits_elsewhere, own_loop  # noqa: PLC0415 - see above

    notes = ScriptNotes(program)

    def update(method: str) -> None:
        """Leave a script that trains by a loop of its own, and comes to no `fit`."""
        file, line = program.script.file, next(iter(line_here(program)), 0)
        if not (run.in_fit or run.fits_to_come() or fits_elsewhere(file, run.tree)):
            raise OwnLoopReached(own_loop(file, file, line, method))

    with _as_script_failures(), notes.taken(update):
        run.to_fit(train)
    return notes


def _fit_in(program: ModuleType, line: int | None) -> Any:
    """Return the call of a `fit` in a line as the script writes it; None where there is none."""
    calls = program.script.fit_calls() if line else ()
    return next((each for each in calls if each.lineno <= line <= each.end_lineno), None)


def fit_failed(program: ModuleType) -> ScriptFailed:
    """Return the error that says that Keras's own `fit`, which is under way, has failed."""
    line = next(iter(line_here(program)), None)
    error = other_backend(
        f"The fit{f' in line {line}' if line else ''} fails by itself: {SAID}.",
        "Fix it so that the script trains without autotune.",
    )
    call = _fit_in(program, line)
    error.lines = call and (call.lineno, call.end_lineno)
    return error


@contextmanager
def run_in_copy(program: ModuleType, number: int | None = None) -> Iterator[_Run]:
    """Have a script work, and stand, in a copy of the working folder."""
    with working_copy(Path(program.__file__ or "").parent) as copy:
        # What the script finds from its own place, and writes there, lies in the copy as well.
        program.script.file = copy.counterpart(program.script.file)
        yield _Run(program, copy.path, number or 1)


class _Run:
    """A run of a script that is left at its `fit`.

    Args:
        program: It runs the script.
        folder: The copy in which it works.
        number: Which of the lines that reach a `fit` is meant, where the program names none.
    """

    def __init__(self, program: ModuleType, folder: Path, number: int) -> None:
        self._program = program
        self._folder = folder
        self._number = number
        self._reached: list[int] = []
        """Lines of each other `fit` that the run has come to, each once."""
        self.in_fit = False
        self._refused: ScriptFailed | None = None
        program.script.Call = self._call_of

    def to_fit(self, train: Train, **methods: Any) -> None:
        """Run the script, have `train` take the call, leave, and raise what `train` has raised."""
        reached = False
        failures: list[Exception] = []

        def train_and_leave(call: Any) -> None:
            nonlocal reached
            # Whether its line comes before the one that is meant by its number.
            before = self._line() in self._reached or len(self._reached) < self._number - 1
            if self._program.script.fit is None and before:
                self._make_one_step(call)
                return
            try:
                train(call)
            except Exception as exc:  # noqa: BLE001 - the script might take it for its own
                failures.append(exc)
            reached = True
            raise FitReached

        try:
            inspect.unwrap(self._program.script.run)(
                train_and_leave,
                lambda *given, **options: self._make_one_step(self._call_of(*given, **options)),
                **methods,
            )
        except BaseException as exc:
            if self._refused and exc is self._refused.__cause__:
                raise self._refused from exc
            if not reached:
                raise
        # A script may take what ends it for an error of its own, and go on.
        if not reached:
            raise self._without_fit()
        if failures:
            raise failures[0]

    def _without_fit(self) -> ScriptFailed:
        line = self._program.script.fit
        if line is not None or self._reached:
            where = f"in line {line}" if line is not None else f"with number {self._number}"
            lines = enumerate(self._reached, 1)
            reached = [f"{n}: {self._receiver(each)}, line {each}" for n, each in lines]
            return ScriptFailed(
                f"The script has come to no fit of Keras {where}.",
                f"Choose by number from: {'; '.join(reached) or 'none'}.",
            )
        return ScriptFailed(
            "The script ended without the call of fit that is to be tuned.",
            "If it trains by a loop of its own, put model and data into a model_fn and a "
            "dataset_fn, and pass these; if only with arguments, pass them behind --.",
        )

    def first_call(self, call: Any, made: Callable[[], None] = lambda: None) -> Any:
        """Have Keras's `fit` do all that the script asks for, until its first step was made.

        Callbacks that would write beyond the copy are left out; the script may load the others'.
        """
        own = call.all_callbacks(validates=False)
        kept = [each for each in own if self.keeps(each)]
        validates = call.validation_data is not None or call.validation_split
        changed = {"validation_freq": 1} if validates else {}
        return self._keras_fit(call, callbacks=[*kept, _FirstCall(made)], **changed)

    def later_calls(self, call: Any, callback: Any) -> Any:
        """Have Keras's `fit` go on for an epoch with one callback alone, which may end it."""
        until = call.initial_epoch + 1
        changed = {"verbose": 0, "validation_freq": 1, "epochs": until}
        return self._keras_fit(call, callbacks=[callback], **changed)

    def _keras_fit(self, call: Any, **changed: Any) -> Any:
        given = {**vars(call), **changed}
        self.in_fit = True
        try:
            return _KERAS_FIT(given.pop("model"), **given)
        finally:
            self.in_fit = False

    def facts_of(self, call: Any) -> dict[str, Any]:
        """Return the facts of the `fit` that is under way, beside model and data."""
        found, line = facts_of(call), self._line()
        later = {each.func.end_lineno for each in self.fits_to_come()}
        others = {*self._reached, *(each for each in later if each > (line or 0))} - {line}
        found["fit"] |= {
            "line": line,
            "of": self._receiver(line),
            "loop": self._line_in_loop(),
            "others": [{"line": each, "of": self._receiver(each)} for each in sorted(others)],
        }
        return found

    def fits_to_come(self) -> list[Any]:
        """Return the calls of a method `fit` that the run may come to, and that may be Keras's.

        The calls that are under way are none of them.
        """
        frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the frames tell how far the script is
        lines = self._program.script.lines_of(frame)
        passed = [
            range(each.lineno, (each.end_lineno or 0) + 1)
            for each in self.tree.body
            if lines and (each.end_lineno or 0) < lines[-1] and not isinstance(each, _DEFINITIONS)
        ]
        bound: dict[str, Any] = {}
        while frame:
            if frame.f_code.co_filename == str(self._program.script.file):
                bound = {**frame.f_locals, **bound}
            frame = frame.f_back
        return [
            each
            for each in self._calls
            if each.func.end_lineno not in lines
            and not any(each.lineno in lines_passed for lines_passed in passed)
            and not _is_without_keras(bound.get(getattr(each.func.value, "id", "")))
        ]

    @cached_property
    def tree(self) -> ast.Module:
        """The script's text."""
        parsed: ast.Module = ast.parse(self._program.script.text())
        return parsed

    @cached_property
    def _calls(self) -> list[Any]:
        return list(self._program.script.fit_calls())

    def _line(self) -> int | None:
        return next(iter(line_here(self._program)), None)

    def _receiver(self, line: int | None) -> str:
        """Return what the `fit` in a line is called on, as the script writes it."""
        found = _fit_in(self._program, line)
        return "" if found is None else ast.unparse(found.func.value)

    def _line_in_loop(self) -> int | None:
        """Return the first line under way that stands in a loop, which may come to it again."""
        loops = (
            e for e in ast.walk(self.tree) if isinstance(e, ast.For | ast.AsyncFor | ast.While)
        )
        bodies = [range(e.body[0].lineno, (e.body[-1].end_lineno or 0) + 1) for e in loops]
        lines = self._program.script.lines_of(sys._getframe())  # noqa: SLF001 - as above
        return min((each for each in lines if any(each in body for body in bodies)), default=None)

    def _make_one_step(self, call: Any) -> Any:
        """Train for one step, so that later code finds a trained model."""
        line = self._line()
        if line is not None and line not in self._reached:
            self._reached.append(line)
        return self.first_call(call)

    def _call_of(self, *arguments: Any, **options: Any) -> Any:
        """Return what the script gives to a `fit`; what is wrong with it, Keras says itself."""
        try:
            return type(self._program.script).Call(*arguments, **options)
        except TypeError:
            try:
                _KERAS_FIT(*arguments, **options)
            except Exception as exc:
                self._refused = fit_failed(self._program)
                self._refused.__cause__ = exc
                raise
            raise

    def keeps(self, callback: Any) -> bool:
        """Whether a callback of Keras's writes nothing beyond the copy, and through no link."""
        for kind, name in _PLACES.items():
            if isinstance(callback, kind):
                place = Path(getattr(callback, name)).absolute()
                there = place.parent.glob(re.sub(r"\{.*?\}", "*", place.name))
                return all(each.resolve().is_relative_to(self._folder) for each in (place, *there))
        return not isinstance(callback, keras.callbacks.RemoteMonitor)


def _is_without_keras(found: Any) -> bool:
    """Whether an object is of a class that computes nothing with Keras."""
    if found is None or isinstance(found, type | ModuleType):
        return False
    return {each.__module__.partition(".")[0] for each in type(found).__mro__} <= _WITHOUT_KERAS


@contextmanager
def _as_script_failures() -> Iterator[None]:
    """Turn whatever keeps a script from its `fit` into an error that says what to do."""
    try:
        with patched((argparse.ArgumentParser, "error", lambda _: _refuse)):
            yield
    except ScriptFailed:
        raise
    except OwnLoopReached as exc:
        raise exc.args[0] from None
    except SystemExit as exc:
        next_step = "Have it come to its fit, or choose another fit by --fit."
        raise other_backend(f"The script ends before its fit: {SAID}.", next_step) from exc
    except EOFError as exc:
        raise ScriptFailed(
            f"The script reads standard input before its fit: {SAID}.",
            "Let it take the value from its command line, and pass it behind --.",
        ) from exc
    except MayNotChange as exc:
        raise ScriptFailed(
            f"The script writes into its working folder by a full path: {SAID}.",
            "Have it take the path from its working folder or its __file__.",
        ) from exc
    except Exception as exc:
        next_step = "Check that it runs by itself."
        raise other_backend(f"The script raised {SAID} before its fit.", next_step) from exc


def other_backend(cause: str, next_step: str) -> ScriptFailed:
    """Return an error that says where Keras does not compute with what the script asks for."""
    asked = os.environ.get("KERAS_BACKEND", keras.backend.backend())
    if asked == keras.backend.backend():
        return ScriptFailed(cause, next_step)
    return ScriptFailed(
        f"{cause} It asks for Keras's backend {asked}, which was replaced by TensorFlow: "
        "that is the likely cause.",
        "tf.distribute needs TensorFlow: check that it runs with KERAS_BACKEND=tensorflow.",
    )


def _refuse(_: argparse.ArgumentParser, message: str) -> NoReturn:
    raise ScriptFailed(
        f"The script does not accept its command line: `{message}`.",
        "Pass what it needs behind --: autotune tune train.py -- ARGUMENTS.",
    )


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


def facts_of(call: Any) -> dict[str, Any]:
    """Return the facts of a call beside model and data.

    From now on, data that can be read once is kept.
    """
    if reads_once(call.x):
        call.x = ReadOnce(call.x)
    kind, own, batches, partial_batches = _data(call.x)
    callbacks = call.all_callbacks(validates=False)
    # Keras does not ask for the size of batches where it is given batches.
    batch = int(own or call.batch_size or 32)  # of Keras
    steps = int(call.steps_per_epoch or 0)
    if kind == "arrays":  # An epoch ends with the data.
        rows = int(call.training_rows())
        usual = max(min(batch, rows), 1)
        examples: int | None = min(steps * batch or rows, rows)
    else:
        fewest = min(filter(None, (steps, batches)), default=None)
        usual, examples = batch, fewest and fewest * batch
    return {
        "usual_batch": usual,
        "examples": examples,
        "count": Count.AT_MOST if partial_batches else Count.EXACT,
        "batch_callbacks": batch_callbacks(callbacks),
        "fit": {
            "data": kind,
            "epochs": int(call.epochs) - int(call.initial_epoch),
            "steps": call.steps_per_epoch and int(call.steps_per_epoch),
            "batches": batches and min(steps or batches, batches),
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


def _data(data: Any) -> tuple[str, int | None, int | None, bool]:
    """Return what Keras knows of the data of a `fit`.

    That is its kind, the examples in each of its batches, the batches of an epoch, and whether a
    batch, such as the last of an epoch, may be smaller than the others.
    """
    # It needs pydantic, which no process that trains should have.
    from autotune.workload import FitData  # noqa: PLC0415 - see above

    if isinstance(data, tf.data.Dataset):
        shapes = [each.shape for each in tf.nest.flatten(data.element_spec)]
        own = int(shapes[0][0]) if shapes[0].rank and shapes[0][0] else None
        if own is None and (first := next(iter(data.take(1)), None)) is not None:
            own = length_of(first)
        known = int(data.cardinality())
        partial_batches = any(not each.rank or each[0] is None for each in shapes)
        return FitData.DATASET, own, known if known > 0 else None, partial_batches
    if isinstance(data, keras.utils.PyDataset):
        batches = data.num_batches and int(data.num_batches)
        return FitData.PY_DATASET, length_of(data[0]), batches, True
    if isinstance(data, ReadOnce):
        return FitData.GENERATOR, data.batch, None, True
    return FitData.ARRAYS, None, None, False
