"""The unit of timing."""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """A run of consecutive steps, timed as a whole with one wait for the device at its end."""

    steps: int
    seconds: float
