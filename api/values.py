"""The values that the store and the workers pass to each other; callers see none of them."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter

from autotune.answer import Verdict
from autotune.base import Value
from autotune.config import Configuration
from autotune.events import Event as SearchEvent
from autotune.machine import Machine
from autotune.trial import Trial
from autotune.wire.errors import UnreadableRecord
from autotune.wire.jobs import Job, Label, State

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


class LeaseToken(Value):
    """An attempt's hold on a job and on devices; every write of the attempt shows it."""

    job_id: str
    attempt: int
    devices: str
    worker: str


class WorkerInfo(Value):
    """The properties of a worker, and of the devices on which it measures."""

    worker: str
    devices: str
    host: str
    workloads: Mapping[str, str] | None = None
    """The digest of the code of each that it has, by name; None takes any job."""
    takes_code: bool = False
    """Whether it runs uploaded code."""
    machine: Machine | None = None
    """The machine of the devices; None while it is not known."""
    labels: tuple[Label, ...] = ()
    engine: str = ""
    """Runs its trials: the name of an engine, or the scheme of its URL."""


class ClaimedJob(Value):
    """A job that a worker has just taken, and what is known of it."""

    token: LeaseToken
    marker: str
    job: Job
    kept: tuple[Trial, ...] = ()
    study: str | None
    """The purpose of the earlier attempts' study."""
    used_seconds: float
    deaths: int
    killers: tuple[Configuration, ...] = ()
    """Configurations during which earlier attempts died; one appears as often as that."""
    unreadable: str | None = None
    """The reason why it cannot be run, if a record of it is damaged."""


class AttemptReport(Value):
    """The additions of one message of an attempt's process to the record, written at once."""

    kind: Literal["report"] = "report"
    number: int = 0
    """Number of the message, as the worker counts; each is recorded once."""
    events: tuple[Annotated[SearchEvent, Field(discriminator="kind")], ...] = ()
    trial: Trial | None = None
    running: Configuration | None = None
    """The configuration that runs from now on; None where the message does not change it."""
    idle: bool = False
    began: bool = False
    """The machine is free and the search begins."""
    study: str | None = None
    """The purpose of the study, once its trials may be resumed."""


class JobOutcome(Value):
    state: State
    verdict: Verdict | None = None
    gain_over_yours: float | None = None
    summary: str | None = None
    reason: str | None = None
    recommendation: str | None = None
    code_changed: bool = False
