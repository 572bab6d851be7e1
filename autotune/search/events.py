"""What a search tells whoever follows it: a terminal, a log, an event stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autotune.config import Configuration
from autotune.search.plan import Plan
from autotune.trial import Stage, Trial


@dataclass(frozen=True)
class Preparing:
    """Something that takes seconds before the first trial."""

    what: str


@dataclass(frozen=True)
class Planned:
    """The search is known: its size, its axes, the rules that limited it."""

    plan: Plan
    kept: tuple[Trial, ...] = ()
    """The trials of the study that is resumed."""


@dataclass(frozen=True)
class TrialStarted:
    """A trial was handed to the engine."""

    number: int
    stage: Stage
    configuration: Configuration
    elapsed: float
    """Seconds since the search began."""


@dataclass(frozen=True)
class TrialEnded:
    """A trial ended; it is saved while the next one starts."""

    trial: Trial
    elapsed: float


@dataclass(frozen=True)
class Notice:
    """Something that the user should know, such as a finalist that failed."""

    text: str


Event = Preparing | Planned | TrialStarted | TrialEnded | Notice
Observer = Callable[[Event], None]


def nobody(_: Event) -> None:
    """Ignore every event."""
