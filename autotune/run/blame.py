"""Which of a trial's troubles came first, and what it makes of the trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autotune.reason import Reason
from autotune.run.engine import Outcome

GRACE = 1.0
"""Seconds for the real cause to show itself, once a process has reported its consequences."""


class Ending(NamedTuple):
    """Why a trial ends."""

    outcome: Outcome
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """An error that a process reported, or its unexpected end."""

    at: float
    ending: Ending
    consequence: bool = False
    """Whether it only tells that another process has gone."""


def blame(troubles: Sequence[Trouble], now: float) -> Ending | None:
    """Return the ending that the first real trouble means; None while it may yet show itself."""
    if not troubles:
        return None
    causes = [trouble for trouble in troubles if not trouble.consequence]
    if causes:
        return min(causes, key=lambda trouble: trouble.at).ending
    first = min(troubles, key=lambda trouble: trouble.at)
    return first.ending if now - first.at > GRACE else None
