"""The events of a search, which a terminal, a log and the service's event stream follow.

Each has a `kind`, by which it is read back from JSON.
"""

from collections.abc import Callable
from typing import Literal

from autotune.answer import Answer
from autotune.base import Value
from autotune.config import Configuration
from autotune.engine.lock import Notify, Wait
from autotune.plan import Plan
from autotune.trial import Stage, Trial


class Preparing(Value):
    """Something that takes seconds before the first trial, or between two."""

    kind: Literal["preparing"] = "preparing"
    what: str


class Planned(Value):
    """The search is known: its size, its axes, the rules that limited it."""

    kind: Literal["planned"] = "planned"
    plan: Plan
    kept: tuple[Trial, ...] = ()
    """The trials of the study that is resumed."""


class TrialStarted(Value):
    """A trial was handed to the engine."""

    kind: Literal["trial_started"] = "trial_started"
    number: int
    stage: Stage
    configuration: Configuration
    elapsed: float
    """Seconds since the search began."""


class TrialEnded(Value):
    """A trial ended; it is saved while the next one starts."""

    kind: Literal["trial_ended"] = "trial_ended"
    trial: Trial
    elapsed: float
    """Seconds since the search began."""
    answer: Answer | None = None
    """What all runs so far say; None while nothing on one device was measured."""


class Notice(Value):
    """Something that the user should know, such as a host that was lost."""

    kind: Literal["notice"] = "notice"
    text: str
    waiting: Wait | None = None
    """What is waited for, where it tells of that; the search has not begun then."""


Event = Preparing | Planned | TrialStarted | TrialEnded | Notice
"""Told apart by `kind`: a field of this type says `Field(discriminator="kind")`."""
Observer = Callable[[Event], None]


def nobody(_: Event) -> None:
    """Ignore every event."""


def as_notices(observer: Observer) -> Notify:
    """Return what an engine reports to while it is reserved: it makes events of that."""
    return lambda what: observer(
        Notice(text=str(what), waiting=what if isinstance(what, Wait) else None)
    )
