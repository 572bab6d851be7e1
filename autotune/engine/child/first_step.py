"""Has Keras make the first step of a script's `fit`, to see whether that trains by itself.

Nothing takes the place of what the script gives to it, neither of its data nor of its strategy. A
few more steps tell roughly how long the training takes.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from statistics import median
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.clock import timed
from autotune.engine.child.member import Member, execute
from autotune.engine.child.notes import before, patched, workers_of_cluster
from autotune.engine.child.once import reads_once
from autotune.engine.child.repeatability import holds_cache, runs_python
from autotune.engine.child.scratch import MayNotChange
from autotune.engine.child.script import (
    beside_fit,
    come_to_fit,
    fit_failed,
    is_distributed,
    run_in_copy,
)
from autotune.engine.events import Step
from autotune.errors import ScriptFailed

_DEVICE = re.compile(r"(\w+):(\d+)$")
_STRATEGIES = ("MirroredStrategy", "MultiWorkerMirroredStrategy", "OneDeviceStrategy")
LATER_CALLS = 5
"""Calls of the step, and of the validation, that are timed after the first ones."""
LATER_SECONDS = 1.0
"""After which no further one begins."""
MOST_SECONDS = 2.0
"""After which they are given up, whatever is under way."""


class DevicesElsewhere(BaseException):
    """The script makes a strategy for devices, or a cluster, that this process does not have."""


Inspect = Callable[[ModuleType, dict[str, Any]], dict[str, Any]]
"""Inspects what a script gives to its `fit`, of which facts are known already."""


def make_first_step(member: Member, inspect: Inspect) -> dict[str, Any]:
    """Make it, report when it began and how long it took, and return what later ones take.

    With the facts of the workload, where a step leaves everything to inspect as it was; otherwise
    that takes another process.

    Raises:
        WorkloadError: The script does not come to its `fit`, or that fails.
    """
    member.announce(Step.RUNNING)
    program = execute(member.folder.script, member.request["script"])
    program.script.replicas = None  # So that its own strategies stay.
    begun, found, of_fit = time.monotonic(), dict[str, Any](), dict[str, Any]()
    with (
        suppress(DevicesElsewhere),
        run_in_copy(program, member.request["fit"]) as run,
        patched(*_CHECKED),
    ):

        def step(call: Any) -> None:
            if _lasts(call.x) and not is_distributed(call.model):
                calling = time.monotonic() - begun
                of_fit.update(run.facts_of(call), calling_seconds=calling)
            clock, ends = _Clock(member), list[float]()
            for each in call.all_callbacks(validates=False):
                if isinstance(each, keras.callbacks.Callback):
                    each.on_epoch_end = timed(each.on_epoch_end, ends.append)
            try:
                run.first_call(call, clock.stop)
            except MayNotChange:
                raise
            except (Exception, SystemExit) as exc:
                raise fit_failed(program) from exc
            if not clock.stopped:
                raise ScriptFailed(
                    "The fit of the script ends without a step.",
                    "Check its data, its epochs and its initial_epoch.",
                )
            later = _LaterCalls()
            if not _in_time(lambda: run.later_calls(call, later)):
                of_fit.clear()  # The model is still trained.
            found.update(later.facts(sum(ends), call.validation_freq))

        notes = come_to_fit(program, run, step)
        if of_fit and not notes.strategies and "get_strategy" not in program.script.text():
            of_fit["fit"] |= beside_fit(notes)
            found["facts"] = inspect(program, of_fit)
    return found


def _lasts(data: Any) -> bool:
    """Whether a pass over data changes nothing for the next one: no cache, nothing of Python's."""
    if not isinstance(data, tf.data.Dataset):
        return not (reads_once(data) or isinstance(data, keras.utils.PyDataset))
    try:
        return not (runs_python(data) or holds_cache(data))
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False


def _in_time(work: Callable[[], None]) -> bool:
    """Do what may fail, and go on without it when its time is over; return whether it has ended."""

    def attempt() -> None:
        with suppress(Exception, SystemExit):
            work()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    return not thread.is_alive()


class _LaterCalls(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times a few calls of the step, then of the validation, and ends the `fit`."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()
        self._steps: list[tuple[int, float]] = []
        self._tests: list[tuple[int, float]] = []
        self._batches: int | None = None

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._steps.append((batch, time.monotonic()))
        # Half of the time is left for the validation.
        late = self._seconds > LATER_SECONDS / 2 and len(self._steps) > 1
        if late or self._seconds > LATER_SECONDS or len(self._steps) > LATER_CALLS:
            self.model.stop_training = True

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._tests.append((batch, time.monotonic()))
        self._batches = private.batches_of_validation(self.model)
        if self._seconds > LATER_SECONDS or len(self._tests) > LATER_CALLS:
            self.model.stop_evaluating = True

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def facts(self, callbacks: float, every: Any) -> dict[str, Any]:
        """Return the seconds of a step, and those after an epoch, where callbacks take so many."""
        step, test = _each(self._steps), _each(self._tests)
        freq = every if isinstance(every, int) else 1
        validation = (test or 0.0) * (self._batches or 0) / freq
        found = {"between_seconds": callbacks + validation}
        return found if step is None else {**found, "own_step_seconds": step}


def _each(calls: list[tuple[int, float]]) -> float | None:
    """Return the seconds of one of the steps that calls have made; None where there is but one."""
    pairs = pairwise([*calls])  # A late one may be added meanwhile.
    return median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]) if len(calls) > 1 else None


class _Clock:
    """Reports how long the first call of a step takes, from the `fit` on."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._began = time.monotonic()
        self.stopped = False
        member.announce(Step.STEPPING)
        member.writer.write(events.TRAIN_BEGIN)

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self._member.writer.write(events.FIRST_STEP, seconds=time.monotonic() - self._began)


def _check_devices(*arguments: Any, **options: Any) -> None:
    """Leave a script whose strategy cannot be made here, where it would fail or wait for ever."""
    named = map(_DEVICE.search, filter(_is_text, tf.nest.flatten([arguments[1:], options])))
    found = [(match[1].upper(), int(match[2])) for match in named if match]
    here = Counter(each.device_type for each in tf.config.list_logical_devices()) if found else {}
    multi_worker = isinstance(arguments[0], tf.distribute.MultiWorkerMirroredStrategy)
    if any(index >= here.get(kind, 0) for kind, index in found) or (
        multi_worker and workers_of_cluster() > 1
    ):
        raise DevicesElsewhere


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_CHECKED: list[tuple[Any, str, Callable[[Any], Any]]] = [
    (getattr(tf.distribute, each), "__init__", before(_check_devices)) for each in _STRATEGIES
]
