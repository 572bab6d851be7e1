"""The clock of a trial: it times runs of steps and reports them.

Keras may dispatch callbacks from several threads, so that calls overlap or swap places; they are
only counted, under a lock. A window ends at a batch end, once it is 0.1 s long, with a wait for
the device: the loss of that batch is read.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

import keras

from autotune.engine import events
from autotune.engine.events import EventWriter
from autotune.library import NAMES

SHORTEST_WINDOW = 0.1
"""Seconds. Shorter ones are dominated by rare stalls of 10 to 20 ms."""
HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end")
"""What Keras calls while steps are timed."""
FEWEST_ENDS, MOST_ENDS = 2, 50
"""Ends of epochs that are timed: as many as take `BETWEEN_SECONDS`, within these bounds."""
BETWEEN_SECONDS = 1.0
PROGRESS_BAR = "ProgbarLogger (verbose)"


class Clock(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Counts and times steps.

    It is `async_safe`, so that Keras goes on dispatching callbacks from threads of its own, and
    the program behaves as it does without a clock.

    Args:
        report: Where events go.
        per_call: Steps of a call of the training step; None where the model says it.
        callbacks: Tells the seconds of each callback since the last time.
    """

    async_safe = True

    def __init__(
        self,
        report: EventWriter,
        per_call: int | None = 1,
        callbacks: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        super().__init__()
        self._callbacks = callbacks
        self._report = report
        self._per_call = per_call or 1
        self._asks = per_call is None
        self._lock = threading.Lock()
        self._total = 0
        self._steps = 0
        self._ends = 0
        self._since = 0.0
        self._begun = False
        self._failed = False

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        with self._lock:
            if not self._begun:
                self._begun = True
                if self._asks:
                    self._per_call = self.model.steps_per_execution
                self._report.write(events.TRAIN_BEGIN)
                self._since = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Count the steps of one call, of which the last one of an epoch may have fewer."""
        first = batch // self._per_call * self._per_call
        # A program may call it without the parameters that Keras sets.
        most = (self.params or {}).get("steps") or math.inf
        self.count(int(min(batch + 1, most)) - first, logs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Note that an epoch has ended; what that costs lies in the window that is open."""
        with self._lock:
            self._ends += 1

    def count(self, steps: int, logs: Mapping[str, Any] | None) -> None:
        with self._lock:
            self._total += steps
            self._steps += steps
            if self._total == steps:
                self._end_of_first_call(logs)
            elif time.monotonic() - self._since >= SHORTEST_WINDOW:
                self._end_of_window(logs)

    def _end_of_first_call(self, logs: Mapping[str, Any] | None) -> None:
        self._wait_for_device(logs)
        now = time.monotonic()
        self._report.write(events.FIRST_STEP, steps=self._steps, seconds=now - self._since)
        self._callbacks()  # What they took of the first call is no part of a window.
        self._begin_window(now)

    def _end_of_window(self, logs: Mapping[str, Any] | None) -> None:
        self._wait_for_device(logs)
        now = time.monotonic()
        more: dict[str, object] = {"ends": self._ends} if self._ends else {}
        if callbacks := self._callbacks():
            more["callbacks"] = callbacks
        self._report.write(events.WINDOW, steps=self._steps, seconds=now - self._since, **more)
        self._begin_window(now)

    def _begin_window(self, now: float) -> None:
        self._since = now
        self._steps = self._ends = 0

    def _wait_for_device(self, logs: Mapping[str, Any] | None) -> None:
        """Read a number that the batch has computed, and see whether it is one."""
        if not logs:
            return
        name = "loss" if "loss" in logs else next(iter(logs))
        value = _read(logs[name])
        if not math.isfinite(value) and not self._failed:
            self._failed = True
            self._report.write(events.NAN, step=self._total, name=name, value=str(value))


def _read(value: Any) -> float:
    """Fetch a value from the device, as a number where it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        # A step of the user's own may log an array, or a structure; it has been waited for.
        return 0.0


class CallbackTimes:
    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._known: list[Any] = []

    def add(self, callback: Any) -> None:
        """Time a callback from now on, unless it is the program's or the trial's own."""
        name = name_of(callback)
        if not name or any(each is callback for each in self._known):
            return
        self._known.append(callback)
        for hook in HOOKS:
            setattr(callback, hook, timed(getattr(callback, hook), partial(self._add, name)))

    def take(self) -> Mapping[str, float]:
        """Return the seconds of each since the last time."""
        taken, self._seconds = self._seconds, defaultdict(float)
        return {name: seconds for name, seconds in taken.items() if seconds}

    def _add(self, name: str, seconds: float) -> None:
        self._seconds[name] += seconds


class BetweenTimes(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times the validation and the checkpoints between two epochs, which no trial has.

    The time of all other callbacks is left out, because trials have it too. The first epoch does
    not count, because the validation is traced then.

    Args:
        then: Is called once when enough ends of epochs were timed, while the training goes on.
    """

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self._then: Callable[[], None] | None = then
        self._known = {id(self)}
        self._works = False
        """Whether the program validates or saves."""
        self._ended = self._others = 0.0
        self._seconds: list[float] = []

    def add(self, callback: Any) -> None:
        """Leave out the time of a callback, unless the callback validates or saves."""
        if id(callback) in self._known:
            return
        self._known.add(id(callback))
        name = type(callback).__name__ if type(callback).__module__ in NAMES else ""
        saves = isinstance(callback, keras.callbacks.ModelCheckpoint)
        if saves or name in ("Validation", "Checkpoints"):
            self._works = True
            return
        for hook in ("on_epoch_end", "on_epoch_begin"):
            setattr(callback, hook, timed(getattr(callback, hook), self._leave_out))

    @property
    def answer(self) -> dict[str, list[float]]:
        """Seconds after each epoch that counts; empty where nothing validates or saves."""
        return {"seconds": self._seconds[1:] if self._works else []}

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._works = True

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Wait for the device: what it still has to do belongs to the step."""
        for value in (logs or {}).values():
            getattr(value, "numpy", lambda: None)()
        self._ended = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        others, self._others = self._others, 0.0
        if not self._ended:
            return
        self._seconds.append(time.monotonic() - self._ended - others)
        counted = self._seconds[1:]
        enough = sum(counted) >= BETWEEN_SECONDS or len(counted) >= MOST_ENDS
        if len(counted) >= FEWEST_ENDS and enough and self._then:
            self._then()
            self._then = None

    def _leave_out(self, seconds: float) -> None:
        self._others += seconds


def watch_callbacks(then: Callable[[Any], None]) -> None:
    """Hand over every callback that a list of Keras gets from now on."""
    original = keras.callbacks.CallbackList.set_params

    @wraps(original)
    def set_params(listed: Any, params: Any) -> None:
        original(listed, params)
        for each in listed.callbacks:
            then(each)

    keras.callbacks.CallbackList.set_params = set_params


def timed(hook: Callable[..., Any], note: Callable[[float], None]) -> Callable[..., Any]:
    @wraps(hook)
    def call(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return hook(*arguments, **options)
        finally:
            note(time.perf_counter() - began)

    return call


def name_of(callback: Any) -> str:
    """Return how people know a callback; empty for one of the program or of the trial."""
    if isinstance(callback, keras.callbacks.ProgbarLogger):
        return PROGRESS_BAR
    kind = type(callback)
    module = kind.__module__
    return "" if module in NAMES or module.startswith("autotune") else kind.__name__
