"""The values that the service's parts pass to each other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    computed_field,
)

from autotune.api.errors import UnreadableRecord
from autotune.api.events import Event
from autotune.api.needs import Label, Needs
from autotune.api.states import State
from autotune.config import Configuration
from autotune.events import Event as SearchEvent
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.result import Result, Verdict
from autotune.space import AUTO, Space
from autotune.text import is_line, plural
from autotune.trial import Trial
from autotune.value import WHOLE, Described, Scalar, Value


def _line(text: str) -> str:
    if not is_line(text):
        raise ValueError("Input should have printable characters only")
    return text


Name = Annotated[str, Field(min_length=1, max_length=100)]
Line = Annotated[str, Field(strict=True, max_length=500), AfterValidator(_line)]
"""Of printable characters."""
LOCAL_PROJECT = "local"
"""Project of the jobs of a service without keys."""
UNREADABLE = "The record of this is damaged and cannot be read."
Kept = TypeVar("Kept")


def read(kind: type[Kept] | TypeAdapter[Kept], record: str | bytes) -> Kept:
    """Return what is kept as JSON; what cannot be read spoils nothing but its own job."""
    adapter = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
    try:
        return adapter.validate_json(record, extra="ignore")
    except Exception as exc:  # A validator may fail in any way at what it was not made for.
        raise UnreadableRecord(UNREADABLE, "Ask the operator.") from exc


class Program(Described):
    """Uploaded code, and what of it is tuned."""

    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of the archive, as it was uploaded."""
    model: Annotated[Line, Field(min_length=1)]
    """A training script, or the model function: `train.py`, `models/a.py:model_fn`,
    `package.module:model_fn`, each from the top of the archive."""
    dataset: Line = ""
    """The dataset function; empty for a script."""
    arguments: Annotated[tuple[Line, ...], Field(max_length=100)] = ()
    """What stands behind the script on its command line."""
    fit: Line | None = None
    """Which `fit` of the script is tuned: a line, or what it is called on."""
    dataset_params: Annotated[dict[Name, Scalar], Field(max_length=64)] = Field(
        default_factory=dict
    )
    """Arguments of the dataset function; those of the model function are in `params`."""


class Tuning(SearchOptions):
    """What a job does: a request, checked and complete; kept with the job."""

    workload: str
    """The name of a registered workload, or what of the uploaded code is tuned."""
    program: Program | None = None
    """The uploaded code; null for a registered workload."""
    params: dict[str, Scalar] = Field(default_factory=dict)
    """All parameters of the workload, completed by their defaults."""
    space: str | Space = AUTO
    """The name of a ready-made space, never a path, or a whole space."""
    needs: Needs = Needs()
    """What the worker that runs it must have."""
    priority: Annotated[int, Field(ge=-10, le=10), WHOLE] = 0
    """A job goes before all of lower priority, whosever they are; above 0 needs the scope admin."""

    @property
    def options(self) -> SearchOptions:
        return SearchOptions(**{name: getattr(self, name) for name in SearchOptions.model_fields})

    @property
    def seconds(self) -> float:
        """The budget; no job is taken in without one."""
        return self.budget or 0.0


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _seconds(given: object) -> object:
    return datetime.fromisoformat(given).timestamp() if isinstance(given, str) else given


class WaitsFor(StrEnum):
    WORKER = "worker"
    """One that can run it; none that is there can."""
    TURN = "turn"
    MACHINE = "machine"
    """Its worker's machine, on which another search may run; the job's own has not begun."""


Time = Annotated[
    float,
    BeforeValidator(_seconds),
    PlainSerializer(moment, return_type=datetime, when_used="json"),
]
"""Seconds since 1970 by the database's clock; a date in JSON."""


class Waiting(Described):
    """What a job waits for, as things stand."""

    kind: WaitsFor
    before: int | None = None
    """How many jobs are before it, where it waits for its turn."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        """It in words."""
        if self.kind is WaitsFor.WORKER:
            return "No worker that is there can run it."
        if self.kind is WaitsFor.MACHINE:
            return "Its search begins when the machine is free."
        verb = "is" if self.before == 1 else "are"
        return f"{plural(self.before, 'job')} {verb} before it." if self.before else "It is next."


class Job(Tuning):
    """A job as it stands."""

    id: str
    project: str
    """The project whose job it is."""
    created_by: str | None = None
    """The id of the key that asked for it."""
    state: State
    attempt: int
    """How often a worker has taken it."""
    devices: str | None = Field(default=None, exclude=True)
    events: int
    """The number of the last event."""
    trials: int
    """How many trials have ended."""
    one_device: float | None
    """Most examples per second that one device has reached so far."""
    distributed: float | None
    """Most examples per second that a distributed configuration has reached so far."""
    created_at: Time
    started_at: Time | None
    """When its search began; until then, when a worker took it."""
    ended_at: Time | None
    verdict: Verdict | None
    gain_over_yours: float | None = None
    """Speed-up over the user's own settings; null where these were not measured."""
    summary: str | None
    """The verdict in a sentence."""
    reason: str | None
    """Why it failed, or what it waits for."""
    code: str | None = None
    """The digest of the workload's code that it measured, as in `workloads` of its worker."""
    code_changed: bool = False
    """Whether the code was edited while it was measured, so that trials are not of one version."""
    waiting: Waiting | None = None
    """What it waits for until it begins; in a list only the machine of a running job."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def url(self) -> str:
        """Its address."""
        return f"/v1/tunings/{self.id}"


class JobEvent(Described):
    """Something that happened to a job."""

    number: int
    """Counts from one without gaps; a stream is resumed after it."""
    at: Time
    body: Event


class JobDetail(Value):
    job: Job
    trials: tuple[Trial, ...]
    events: tuple[JobEvent, ...]
    """The latest ones, oldest first."""
    spent: float
    recommendation: Result | None


class Page(Described):
    """Some jobs, newest first."""

    tunings: tuple[Job, ...]
    next: str | None
    """What to give as `before` for the next page; null at the end."""


class LeaseToken(Value):
    """An attempt's hold on a job and on devices; every write of the attempt shows it."""

    job_id: str
    attempt: int
    devices: str
    worker: str


class WorkerInfo(Value):
    """What a worker has, and measures on."""

    worker: str
    devices: str
    host: str
    workloads: Mapping[str, str] | None = None
    """The digest of the code of each that it has, by name; None takes any job."""
    takes_code: bool = False
    """Whether it runs uploaded code."""
    machine: Machine | None = None
    """What the devices are; None while that is not known."""
    labels: tuple[Label, ...] = ()
    engine: str = ""
    """Runs its trials: the name of an engine, or the scheme of its URL."""


class SeenWorker(Described):
    """A worker, as it was last seen."""

    name: str
    devices: str
    """What it measures on; one job at a time is measured on the same devices."""
    machine: Machine | None
    """What the devices are; null while that is not known."""
    engine: str
    labels: tuple[str, ...]
    workloads: dict[str, str]
    """The digest of the code of each that it has, by name."""
    takes_code: bool | None = False
    """Whether it runs uploaded code."""
    version: str
    """Of autotune."""
    started_at: Time | None
    seen_at: Time
    draining: bool
    """Whether it takes no further job."""
    busy: bool
    """Whether a job runs on its devices by it."""
    job: str | None
    """The id of that job, where the key may see it."""

    @property
    def doing(self) -> str:
        """What it does, in a few words."""
        if not self.draining:
            return "runs a job" if self.busy else "waits"
        return "runs its last job" if self.busy else "is drained"


class CodeAnswer(Described):
    """Uploaded code."""

    digest: str
    """SHA-256 of the archive."""
    bytes: int
    """Size of the archive."""
    files: int
    unpacked: int
    """Bytes of its files."""
    created_at: Time


class WorkersAnswer(Described):
    """The workers that are there, by name."""

    workers: tuple[SeenWorker, ...]


class ProcessIdentity(Value):
    """A process, never mistaken for a later one of the same number."""

    pid: int
    started: int
    """Clock ticks from the boot to its start."""


class ClaimedJob(Value):
    """A job that a worker has just taken, and what is known of it."""

    token: LeaseToken
    marker: str
    job: Job
    kept: tuple[Trial, ...] = ()
    study: str | None
    """What the study of the earlier attempts was made for."""
    used_seconds: float
    deaths: int
    killers: tuple[Configuration, ...] = ()
    """Configurations during which earlier attempts died; one appears as often as that."""
    unreadable: str | None = None
    """Why it cannot be run, if a record of it is damaged."""


class AttemptReport(Value):
    """What one message of an attempt's process adds to the record, all at once."""

    kind: Literal["report"] = "report"
    number: int = 0
    """Of the message, as the worker counts; each is recorded once, however often it is tried."""
    events: tuple[Annotated[SearchEvent, Field(discriminator="kind")], ...] = ()
    trial: Trial | None = None
    running: Configuration | None = None
    """The configuration that runs from now on; None where the message does not change it."""
    idle: bool = False
    began: bool = False
    """The machine is free and the search begins."""
    study: str | None = None
    """What the study was made for, once it is there and its trials may be resumed."""


class OrphanedProcesses(Value):
    """An attempt of which something may be left."""

    job_id: str
    attempt: int
    marker: str
    identity: ProcessIdentity | None


class JobOutcome(Value):
    state: State
    verdict: Verdict | None = None
    gain_over_yours: float | None = None
    summary: str | None = None
    reason: str | None = None
    recommendation: str | None = None
    code_changed: bool = False


def answer_of(result: Result) -> dict[str, Any]:
    """Return what a job keeps of its result's answer, by its fields."""
    gain = result.gain_over_yours
    return {
        "verdict": result.verdict,
        "gain_over_yours": gain and gain.value,
        "summary": result.summary,
    }


class Mistake(Described):
    """Something in a request that does not fit the schema."""

    location: str = Field(examples=["body.budget"])
    message: str = Field(examples=["Input should be a valid number"])


class Problem(Described):
    """Why a request was refused, for people and for programs."""

    type: str = Field(examples=["urn:autotune:problem:not-found"])
    title: str
    status: int
    code: str
    """The kind of problem in a word."""
    detail: str
    next_step: str
    """What to do about it; may be empty."""
    instance: str | None = Field(default=None, examples=["urn:autotune:request:5f0c9a1e"])
    """Which request it was, as in the service's log."""
    errors: tuple[Mistake, ...] = ()
