"""Runs a program as its user would, with validation and checkpoints, and times these alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import keras

from autotune.engine.child.clock import Clock
from autotune.engine.child.member import Member
from autotune.library import NAMES

CALLS = 2
"""Of the training step in an epoch."""


def between_epochs(member: Member) -> None:
    """Train for some short epochs, and report what the later ones did at their ends."""
    program, times = member.program(), Times()
    times.watch()
    steps = CALLS * member.request["steps_per_call"]
    folder = member.folder.path / "checkpoints"
    given = {"epochs": member.request["epochs"], "steps-per-epoch": steps, "verbose": 0}
    # It tells how far the training is.
    clock = Clock(member.writer, member.request["steps_per_call"])
    program.main(member.arguments(resume=folder, **given), callbacks=[clock, times])
    found = {name: seconds[1:] for name, seconds in times.seconds.items()}
    member.finish({"validation": [], "checkpoint": [], **found})


class Times(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times the validation that is Keras's own, and that of the program's modules, and what saves.

    Attributes:
        seconds: Of each, by epoch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._began = 0.0

    def watch(self) -> None:
        """Time those callbacks of the program's modules that a list of Keras gets from now on."""
        original = keras.callbacks.CallbackList.set_params

        @wraps(original)
        def set_params(listed: Any, params: Any) -> None:
            original(listed, params)
            for each in listed.callbacks:
                what = {"Validation": "validation", "Checkpoints": "checkpoint"}
                name = what.get(type(each).__name__)
                if name and type(each).__module__ in NAMES and "on_epoch_end" not in vars(each):
                    each.on_epoch_end = self._timed(name, each.on_epoch_end)

        keras.callbacks.CallbackList.set_params = set_params

    def _timed(self, name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(hook)
        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.monotonic()
            found = hook(*arguments, **options)
            self.seconds[name].append(time.monotonic() - began)
            return found

        return timed

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Wait for the device: what it still has to do belongs to the step."""
        for value in (logs or {}).values():
            getattr(value, "numpy", lambda: None)()

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._began = time.monotonic()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self.seconds["validation"].append(time.monotonic() - self._began)
