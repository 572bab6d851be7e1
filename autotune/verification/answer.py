"""The answer to "does this recommendation still hold?"."""

from __future__ import annotations

from enum import StrEnum


class Answer(StrEnum):
    """What the runs of today say of a saved recommendation."""

    HOLDS = "holds"
    """It is confirmed beyond doubt."""
    FAILS = "fails"
    """It is refuted beyond doubt, or what it recommends does not run here any more."""
    UNCLEAR = "unclear"
    """It is not refuted, and the time did not suffice to confirm it."""
