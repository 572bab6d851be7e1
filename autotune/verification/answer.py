"""The answer to "does this recommendation still hold?"."""

from __future__ import annotations

from enum import StrEnum


class Answer(StrEnum):
    """What the runs of today say of a saved recommendation."""

    HOLDS = "holds"
    """Confirmed by the runs."""
    FAILS = "fails"
    """Refuted by the runs, or the recommended configuration no longer runs here."""
    UNCLEAR = "unclear"
    """Inconclusive within the given time."""
