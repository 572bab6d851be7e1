"""The values that the service's parts hand to each other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autotune.api.events import Event
from autotune.api.states import State
from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.result import Result, Verdict
from autotune.space import Space
from autotune.trial import Trial
from autotune.value import Scalar, Value

Name = Annotated[str, Field(min_length=1, max_length=100)]
LOCAL_OWNER = "local"
"""Owner of the jobs of a service without keys."""


class Tuning(Value):
    """A request for a job, checked and complete; kept with the job."""

    workload: Name
    params: tuple[tuple[str, Scalar], ...] = ()
    """Parameters of the workload, as its own model validated them."""
    space: str | Space = "auto"
    """The name of a ready-made space, never a path, or a whole space."""
    options: SearchOptions = SearchOptions()

    @property
    def seconds(self) -> float:
        """The budget; no job is taken in without one."""
        return self.options.budget or 0.0


class Job(Value):
    """A job as it stands."""

    id: str
    owner: str
    workload: str
    request: Tuning
    budget_seconds: float
    state: State
    attempt: int
    devices: str | None
    events: int
    trials: int
    one_device: float | None
    """Most examples per second that one device has reached so far."""
    distributed: float | None
    """Most examples per second that a distributed configuration has reached so far."""
    created_at: float
    started_at: float | None
    ended_at: float | None
    verdict: Verdict | None
    summary: str | None
    reason: str | None


class JobEvent(Value):
    """Something that happened to a job."""

    number: int
    """Counts from one without gaps; a stream is resumed after it."""
    at: float
    body: Event


class JobTrial(Value):
    """A trial of a job."""

    number: int
    attempt: int
    at: float
    trial: Trial


class Story(Value):
    """All that there is to tell of a job, of one moment."""

    job: Job
    trials: tuple[Trial, ...]
    """The latest ones, by number."""
    events: tuple[JobEvent, ...]
    """The latest ones, oldest first."""
    now: float
    """The time of the moment."""
    spent: float
    """Seconds that its search has taken so far."""
    recommendation: Result | None


class Page(Value):
    """Some jobs, newest first."""

    jobs: tuple[Job, ...]
    next_before: str | None
    """The id of the last of these, after which the next page begins; None at the end."""


class Grip(Value):
    """An attempt's hold on a job and on devices; every write of the attempt shows it."""

    job_id: str
    attempt: int
    devices: str
    worker: str


class Post(Value):
    """Where a worker stands."""

    worker: str
    devices: str
    host: str
    """Boot and process namespace."""


class Birth(Value):
    """A process, never mistaken for a later one of the same number."""

    pid: int
    started: int
    """Clock ticks from the boot to its start."""


class Claim(Value):
    """A job that a worker has just taken, and what is known of it."""

    grip: Grip
    marker: str
    job: Job
    kept: tuple[Trial, ...]
    """Trials of earlier attempts."""
    study: str | None
    """What the study of the earlier attempts was made for."""
    used_seconds: float
    """Time that earlier attempts spent on the search."""
    deaths: int
    """How many earlier attempts died or were lost."""
    killers: tuple[Configuration, ...]
    """Configurations during which earlier attempts died; one appears as often as that."""


class Remains(Value):
    """An attempt of which something may be left."""

    job_id: str
    attempt: int
    marker: str
    birth: Birth | None


class Repeatable(Value):
    """An idempotency key with a fingerprint of the request that it came with."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
    fingerprint: str


class Outcome(Value):
    """How an attempt ends its job."""

    state: State
    verdict: Verdict | None = None
    summary: str | None = None
    reason: str | None = None
    recommendation: str | None = None
    """The recommendation as JSON."""
