"""Trains with a program for some seconds and prints how many examples it took per second.

    python long_run.py MARK PROGRAM GLOBAL_BATCH WARM_UP FIRST_EPOCH SECONDS [ARGUMENT ...]

The line begins with MARK; the program gets the arguments, and prints what it prints by default, as
in a trial. Nothing of autotune is in this process, and nothing but one callback is in the training.
The clock starts in the second epoch and past the warm-up, or when the first epoch has lasted so
long; the mean is over all of the time from then on, ends of epochs included. In a gang worker 0
reports.
"""

import json
import os
import runpy
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras


class MeanRate(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Prints the mean rate between the end of the warm-up and the end of the time.

    It lets Keras dispatch callbacks from threads of its own, as it does without this one.

    Args:
        mark: Begins the line.
        global_batch: Examples of a step.
        warm_up: Seconds past the first call, which compiles.
        first_epoch: Seconds past it after which the first epoch is not waited for.
        seconds: How long to measure.
    """

    async_safe = True

    def __init__(
        self, mark: str, global_batch: int, warm_up: float, first_epoch: float, seconds: float
    ) -> None:
        super().__init__()
        self._mark = mark
        self._batch = global_batch
        self._warm_up = warm_up
        self._first_epoch = first_epoch
        self._seconds = seconds
        self._lock = threading.Lock()
        self._first: float | None = None
        self._since: float | None = None
        self._steps = 0
        self._counted = 0
        self._epochs = 0

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        del epoch, logs
        self._counted = 0

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        del epoch, logs
        self._epochs += 1

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Count the steps of a call, whose last one is `batch`.

        The last call of an epoch has those that are left, though Keras numbers it as a whole one.
        """
        with self._lock:
            now = time.monotonic()
            done = min(batch + 1, (self.params or {}).get("steps") or batch + 1)
            steps, self._counted = done - self._counted, done
            if self._since is not None:
                self._steps += steps
                if now - self._since >= self._seconds:
                    self._report(logs)
            elif self._first is None:
                self._first = _settled(logs)
            elif self._warm(now - self._first):
                self._since = _settled(logs)

    def _warm(self, seconds: float) -> bool:
        return seconds >= (self._warm_up if self._epochs else self._first_epoch)

    def _report(self, logs: Mapping[str, Any] | None) -> None:
        seconds = _settled(logs) - (self._since or 0.0)
        # At once and on a line of its own, because Keras prints too, from another thread.
        sys.stdout.write(f"\n{self._mark}{self._steps * self._batch / seconds}\n")
        sys.stdout.flush()
        # Whoever started this ends it; a worker of a gang cannot leave before the others.
        self._seconds = float("inf")


def _settled(logs: Mapping[str, Any] | None) -> float:
    """Return the time once the device has done all that it was given: a number of it is read."""
    for value in (logs or {}).values():
        float(value)
        break
    return time.monotonic()


def _reports() -> bool:
    """Whether this process speaks for all."""
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    return int(config.get("task", {}).get("index", 0)) == 0


def main(mark: str, program: str, global_batch: str, *more: str) -> None:
    """Train until somebody ends this process."""
    clock = MeanRate(mark, int(global_batch), *map(float, more[:3]))
    callbacks = [clock] if _reports() else []
    sys.path.insert(0, str(Path(program).parent))  # Its modules lie beside it.
    train = runpy.run_path(program, run_name="train")["main"]
    train(more[3:], callbacks=callbacks)


if __name__ == "__main__":
    main(*sys.argv[1:])
