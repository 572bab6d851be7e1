"""What a tuner needs of a machine, so that each can search on any: real, replayed, or in processes.

A tuner measures one configuration after the other until the time is up. It recommends what its own
measurements say is fastest, or what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from autotune.config import Configuration


class Meter(Protocol):
    """Measures configurations while there is time."""

    @property
    def left(self) -> float:
        """Seconds."""
        ...

    @property
    def trial_seconds(self) -> float:
        """About how long a measurement takes."""
        ...

    def measure(self, configuration: Configuration) -> float | None:
        """Return examples per second, or None if the trial gave no figure."""
        ...


Tuner = Callable[[Sequence[Configuration], Meter, int], Configuration | None]
"""Searches some configurations with a seed, and returns what it recommends beside its trials."""
