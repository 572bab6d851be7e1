"""What happens to a job, as its event stream tells it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from autotune.api.states import State
from autotune.config import Configuration
from autotune.search.plan import Plan
from autotune.trial import Stage, Trial
from autotune.value import Value


class Queued(Value):
    """The job waits for a worker."""

    kind: Literal["queued"] = "queued"


class AttemptBegan(Value):
    """A worker took the job."""

    kind: Literal["attempt began"] = "attempt began"
    attempt: int
    kept: int
    """Trials of earlier attempts, with which it goes on."""


class AttemptEnded(Value):
    """A worker let go of a job that is not finished; it goes on by itself."""

    kind: Literal["attempt ended"] = "attempt ended"
    attempt: int
    reason: str


class Planned(Value):
    """The search is known: its size, its axes, the rules that limited it."""

    kind: Literal["planned"] = "planned"
    plan: Plan


class TrialBegan(Value):
    """A trial runs."""

    kind: Literal["trial began"] = "trial began"
    number: int
    stage: Stage
    configuration: Configuration
    elapsed: float


class TrialEnded(Value):
    """A trial ended; it comes without its windows."""

    kind: Literal["trial ended"] = "trial ended"
    trial: Trial
    elapsed: float


class Note(Value):
    """Something that whoever follows the job should know."""

    kind: Literal["note"] = "note"
    text: str


class Cancelling(Value):
    """Somebody cancelled the job; its worker is about to end it."""

    kind: Literal["cancelling"] = "cancelling"


class Ended(Value):
    """The job ended; the last event of every job, exactly once."""

    kind: Literal["ended"] = "ended"
    state: State
    summary: str | None = None
    reason: str | None = None


Happening = Annotated[
    Queued
    | AttemptBegan
    | AttemptEnded
    | Planned
    | TrialBegan
    | TrialEnded
    | Note
    | Cancelling
    | Ended,
    Field(discriminator="kind"),
]
