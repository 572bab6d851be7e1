"""The answer to "should I distribute this training?"."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What to do."""

    DISTRIBUTE = "distribute"
    """A distributed configuration is faster: significantly, and by more than the margin."""
    ONE_DEVICE = "one device"
    """No distributed configuration is faster by more than the margin."""
    UNDECIDED = "undecided"
    """The budget was too small to tell; one device is recommended meanwhile."""
