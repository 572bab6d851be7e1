"""How a training program drives the clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from autotune.run.child.clock import Clock


class ClockCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Tells a clock when training begins and when a call of the training step ends.

    It is `async_safe`, so that Keras goes on dispatching callbacks from threads of its own, and
    the program behaves as it does without a clock.
    """

    async_safe = True

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Start the clock."""
        self._clock.begin()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Count the steps of one call."""
        self._clock.count(self.model.steps_per_execution, logs)
