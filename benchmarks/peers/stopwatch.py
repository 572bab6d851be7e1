"""A stopwatch in a training, as one writes it for one's own tuning."""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

WARM_UP = 1.0
"""Seconds of steps past the first call, which compiles."""
ENDLESS = 1_000_000
"""Epochs."""


class Stopwatch(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times windows of steps after a warm-up, then ends the training.

    Args:
        examples: In one call of the training step.
        seconds: Length of a window.
        windows: How many.
        report: Takes the examples per second of each.
    """

    def __init__(
        self, examples: int, seconds: float, windows: int, report: Callable[[float], None]
    ) -> None:
        super().__init__()
        self._examples = examples
        self._seconds = seconds
        self._windows = windows
        self._report = report
        self._since: float | None = None
        self._calls = 0
        self._warm = False

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        del batch
        if self._since is None:
            self._restart(logs)
            return
        self._calls += 1
        if time.monotonic() - self._since < (self._seconds if self._warm else WARM_UP):
            return
        calls, began = self._calls, self._since
        self._restart(logs)
        if not self._warm:
            self._warm = True
            return
        self._windows -= 1
        self.model.stop_training = self._windows <= 0
        self._report(calls * self._examples / (self._since - began))

    def _restart(self, logs: Mapping[str, Any] | None) -> None:
        # Reading a number waits until the device has computed it.
        float(next(iter((logs or {"": 0.0}).values())))
        self._since, self._calls = time.monotonic(), 0


def train(program: Path, stopwatch: Stopwatch) -> None:
    """Run the program's training until the stopwatch ends it."""
    main = runpy.run_path(str(program), run_name="train")["main"]
    main(["--epochs", str(ENDLESS), "--verbose", "0"], callbacks=[stopwatch])
