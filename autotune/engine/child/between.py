"""Runs a program as its user would, with validation and checkpoints, and times these alone."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import keras

from autotune.engine.child.clock import Clock, timed, watch_callbacks
from autotune.engine.child.member import Member
from autotune.library import NAMES

EPOCHS = 3
"""Of the first one nothing counts: what validates is traced then."""
CALLS = 2
"""Of the training step in an epoch."""
KINDS = {"Validation": "validation", "Checkpoints": "checkpoint"}
"""Callbacks of the program's modules, and what they do between epochs."""


def between_epochs(member: Member) -> None:
    """Train for some short epochs, and report what the later ones did at their ends."""
    program, times = member.program(), Times()
    watch_callbacks(times.add)
    steps = CALLS * member.request["steps_per_call"]
    folder = member.folder.path / "checkpoints"
    given = {"epochs": EPOCHS, "steps-per-epoch": steps, "verbose": 0}
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

    def add(self, callback: Any) -> None:
        """Time a callback if it is one of the program's modules."""
        name = KINDS.get(type(callback).__name__)
        known = "on_epoch_end" in vars(callback)
        if name and type(callback).__module__ in NAMES and not known:
            callback.on_epoch_end = timed(callback.on_epoch_end, self.seconds[name].append)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Wait for the device: what it still has to do belongs to the step."""
        for value in (logs or {}).values():
            getattr(value, "numpy", lambda: None)()

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._began = time.monotonic()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self.seconds["validation"].append(time.monotonic() - self._began)
