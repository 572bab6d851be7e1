"""Runs a program with a clock attached, for its steps or for what it does between its epochs.

Keras may dispatch callbacks from several threads, so that calls overlap or swap places; they are
only counted, under a lock. A window ends at a batch end, once it is 0.1 s long, with a wait for
the device: the loss of that batch is read.

On request the program trains without the exchange of gradients: under a synchronous strategy Keras
adds up the gradients of all replicas in one method of its optimizers, dense and sparse ones alike,
before it applies them.
"""

import math
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.process import Member
from autotune.engine.child.surroundings import patched
from autotune.engine.events import EventWriter
from autotune.library import NAMES

CALLS = 2
"""Of the training step in an epoch, where what lies between epochs is timed."""


def train(member: Member) -> None:
    """Run the training program until the tuner ends it."""
    if not member.request["exchanges"]:
        private.remove_exchange()
    times = CallbackTimes()
    watch_callbacks(times.add)
    program = member.program()
    if member.request["fill"]:
        fill_caches(program, member.request["fill"], member.writer)
    clock = Clock(member.writer, member.request["steps_per_call"], callbacks=times.take)
    program.main(member.arguments(), callbacks=[clock])


def between_epochs(member: Member) -> None:
    """Train in short epochs, and report what lies between them."""
    program, per_call = member.program(), member.request["steps_per_call"]

    def answer() -> None:
        member.leave(times.answer)
        member.writer.write(events.ANSWERED)

    times = BetweenTimes(answer)
    watch_callbacks(times.add)
    arguments = member.arguments(verbose=0, **{"steps-per-epoch": CALLS * per_call})
    # The clock tells how far the training is.
    program.main(arguments, callbacks=[Clock(member.writer, per_call), times])
    member.finish(times.answer)  # A callback of the user's has ended it.


def fill_caches(program: ModuleType, order: Mapping[str, Any], report: EventWriter) -> None:
    """Have a program's input be read alone for an epoch as soon as the program has made it."""
    make = program.make_dataset

    def filled(*arguments: Any, **options: Any) -> Any:
        def made(few: int) -> Any:
            with patched((tf.data.Dataset, "cache", partial(_smaller_cache, few))):
                return make(*arguments, **options)

        wanted, seconds = order["examples"], order["seconds"]
        dataset = make(*arguments, **options) if order["whole"] else made(wanted)
        read = read_epoch(dataset, wanted, seconds)
        if 0 < read < wanted:
            # What was read in the time can be read again.
            dataset, wanted = made(read), read
            read = read_epoch(dataset, wanted, 2 * seconds)
        report.write(events.FILLED, result={"filled": read if read == wanted else 0})
        return dataset

    program.make_dataset = filled  # type: ignore[attr-defined] # the program's own name


def read_epoch(dataset: Any, examples: int, seconds: float) -> int:
    """Read batches past the end of an epoch, and return how many of its examples were read."""
    deadline, read = time.monotonic() + seconds, 0
    for batch in dataset:
        # A cache is complete only once more was asked for than there is.
        if read > examples:
            return examples
        read += int(tf.nest.flatten(batch)[0].shape[0])
        if time.monotonic() > deadline:
            break
    return min(read, examples - 1)


def _smaller_cache(examples: int, cache: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes caches that hold no more than that."""

    def smaller(dataset: Any, filename: Any = "", name: str | None = None) -> Any:
        # What the user keeps in a file must be whole.
        own = bool(filename) and not str(filename).startswith(tempfile.gettempdir())
        few = dataset if own else dataset.take(max(examples // _rows(dataset), 1))
        return cache(few, filename, name)

    return smaller


def _rows(dataset: Any) -> int:
    """Return the examples in an element: those of a batch have one first dimension in common."""
    shapes = [spec.shape for spec in tf.nest.flatten(dataset.element_spec)]
    firsts = {shape[0] if shape.rank else None for shape in shapes}
    first = firsts.pop() if len(firsts) == 1 else None
    return int(first) if first else 1


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
            is_first = self._total == steps
            if not is_first and time.monotonic() - self._since < SHORTEST_WINDOW:
                return
            self._wait_for_device(logs)
            now = time.monotonic()
            # What callbacks took of the first call is no part of a window.
            more = {"ends": self._ends, "callbacks": self._callbacks()}
            fields = {} if is_first else {name: each for name, each in more.items() if each}
            event, seconds = events.FIRST_STEP if is_first else events.WINDOW, now - self._since
            self._report.write(event, steps=self._steps, seconds=seconds, **fields)
            self._since = now
            self._steps = self._ends = 0

    def _wait_for_device(self, logs: Mapping[str, Any] | None) -> None:
        """Read a number that the batch has computed, and see whether it is one."""
        if not logs:
            return
        name = "loss" if "loss" in logs else next(iter(logs))
        # A step of the user's own may log an array, or a structure; it has been waited for.
        value = number_of(logs[name], otherwise=0.0)
        if not math.isfinite(value) and not self._failed:
            self._failed = True
            self._report.write(events.NAN, step=self._total, name=name, value=str(value))


def number_of(value: Any, *, otherwise: float) -> float:
    """Fetch a value from the device, as a number where it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return otherwise


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

        def add(seconds: float) -> None:
            self._seconds[name] += seconds

        for hook in HOOKS:
            setattr(callback, hook, timed(getattr(callback, hook), add))

    def take(self) -> Mapping[str, float]:
        """Return the seconds of each since the last time."""
        taken, self._seconds = self._seconds, defaultdict(float)
        return {name: seconds for name, seconds in taken.items() if seconds}


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
