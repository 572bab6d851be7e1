"""The unit of timing."""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """A run of consecutive steps, timed as a whole with one wait for the device at its end."""

    steps: int
    seconds: float
    ends: int = 0
    """Ends of epochs whose cost lies in it: metrics read and reset, callbacks, an input that
    begins anew."""
