"""What the answers hold. Their names stay as they are; what is internal is left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict, JsonValue, TypeAdapter, computed_field, create_model

from autotune.api.events import Event, event
from autotune.api.states import State
from autotune.api.values import Job, JobEvent, Page
from autotune.api.workloads import Registered
from autotune.config import Configuration
from autotune.events import TrialEnded
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason import Reason
from autotune.result import Result, Verdict
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
from autotune.space import Space
from autotune.trial import Stage, Trial
from autotune.value import Scalar, Value


class ProgressAnswer(Value):
    """How far a job is."""

    attempt: int
    """How often a worker has taken it."""
    trials: int
    """How many trials have ended."""
    events: int
    """The number of the last event."""
    one_device: float | None
    """Most examples per second that one device has reached so far."""
    distributed: float | None
    """Most examples per second that a distributed configuration has reached so far."""


class TuningAnswer(SearchOptions):
    """A job as it stands."""

    id: str
    url: str
    """Its address."""
    state: State
    workload: str
    params: dict[str, Scalar]
    """All parameters of the workload, completed by their defaults."""
    space: str | Space
    progress: ProgressAnswer
    verdict: Verdict | None
    summary: str | None
    """The verdict in a sentence."""
    reason: str | None
    """Why it failed."""
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> TuningAnswer:
        """Return the answer for a job."""
        return cls.model_validate(cls.fields_of(job))

    @staticmethod
    def fields_of(job: Job) -> dict[str, Any]:
        """Return what the answer for a job is made of; of many jobs it is made at once."""
        fields = vars(job)
        told: dict[str, Any] = {name: fields[name] for name in _OF_A_JOB}
        told |= {**vars(job.request.options), "space": job.request.space}
        told["url"] = address(job.id)
        told["params"] = dict(job.request.params)
        told["progress"] = {name: fields[name] for name in ProgressAnswer.model_fields}
        return told


# Pydantic makes dates of the times itself, several times as fast.
_TIMES = ("created_at", "started_at", "ended_at")
_TOLD = ("id", "state", "workload", "verdict", "summary", "reason")
_OF_A_JOB = (*_TOLD, *_TIMES)


class TuningsAnswer(Value):
    """Some jobs, newest first."""

    tunings: tuple[TuningAnswer, ...]
    next: str | None
    """What to give as `before` for the next page; null at the end."""

    @classmethod
    def of(cls, page: Page) -> TuningsAnswer:
        """Return the answer for a page."""
        found = map(TuningAnswer.fields_of, page.jobs)
        return cls.model_validate({"tunings": tuple(found), "next": page.next_before})


class TrialAnswer(Value):
    """One run of one configuration, and what became of it."""

    # Read from what is kept of a trial, of which not everything is told.
    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    number: int
    stage: Stage
    round: int | None
    """The turn within the finals."""
    outcome: Outcome
    reason: Reason
    """Why it ended so, as a kind with its data."""
    configuration: Configuration
    examples_per_second: float | None
    error: float | None
    """Standard error of log(throughput) within the run."""
    lost_updates: float | None
    """Share that the optimizer's counter of updates lost because workers did not wait for each
    other; null where they do."""
    start_seconds: float | None
    first_step_seconds: float | None
    wall_seconds: float
    peak_memory: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The reason in words."""
        return reason_text(self.reason)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def global_batch(self) -> int:
        """Examples of one step."""
        return self.configuration.global_batch

    @classmethod
    def of(cls, trial: Trial) -> TrialAnswer:
        """Return the answer for a trial, without its windows and what it printed."""
        return cls(**{name: getattr(trial, name) for name in cls.model_fields})


_trials = TypeAdapter(tuple[TrialAnswer, ...])


class TrialsAnswer(Value):
    """Trials of a job by number."""

    trials: tuple[TrialAnswer, ...]
    next: int | None
    """What to give as `after` for the rest; null if there is none yet."""

    @classmethod
    def of(cls, records: Sequence[str], limit: int) -> TrialsAnswer:
        """Return the answer for some trials as kept, of which at most `limit` were asked for."""
        trials = _trials.validate_json(f"[{','.join(records)}]")
        more = len(trials) == limit
        return cls(trials=trials, next=trials[-1].number if more else None)


class EventAnswer(Value):
    """Something that happened to a job. What else it holds depends on its kind."""

    model_config = ConfigDict(extra="allow")

    number: int
    """Counts from one without gaps."""
    at: datetime
    kind: str

    @classmethod
    def of(cls, told: JobEvent) -> EventAnswer:
        """Return the answer for an event."""
        return cls.model_validate(
            {"number": told.number, "at": moment(told.at), **_body(told.body)}
        )


_INTERNAL = {"schema_version", "workload", "facts", "trials", "study", "space", "options"}
"""Fields of a result that are nobody's business, or have an answer of their own."""


_told: dict[str, Any] = {
    name: (field.annotation, field)
    for name, field in Result.model_fields.items()
    if name not in _INTERNAL
}
_Result: Any = create_model("_Result", __base__=Value, **_told)


class RecommendationAnswer(_Result):
    """The result of a job: the best configuration, how sure it is, why, and the program for it."""

    # Read from what is kept of a result, of which not everything is told.
    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": False})

    trials: int
    """How many there are."""

    @classmethod
    def of(cls, record: str, trials: int) -> RecommendationAnswer:
        """Return the answer for a result as JSON, which rests on so many trials."""
        found: RecommendationAnswer = cls.model_validate({**json.loads(record), "trials": trials})
        return found


class WorkloadAnswer(Value):
    """A workload that may be asked for."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """A JSON Schema of `params`."""

    @classmethod
    def of(cls, name: str, workload: Registered) -> WorkloadAnswer:
        """Return the answer for a workload; where its factories are is nobody's business."""
        schema = workload.parameters.model_json_schema()
        return cls(name=name, description=workload.description, parameters=schema)


class WorkloadsAnswer(Value):
    """All workloads by name."""

    workloads: tuple[WorkloadAnswer, ...]


class SpacesAnswer(Value):
    """The ready-made search spaces."""

    auto: str
    """The one that `auto` stands for on this machine."""
    spaces: tuple[Space, ...]


class MachineAnswer(Value):
    """What jobs are measured on."""

    devices: str
    machine: Machine


class HealthAnswer(Value):
    """That the service is there."""

    status: str


def address(job_id: str) -> str:
    """Return the address of a job."""
    return f"/v1/tunings/{job_id}"


def moment(seconds: float) -> datetime:
    """Return a time of the database as a date."""
    return datetime.fromtimestamp(seconds, UTC)


def _body(what: Event) -> dict[str, Any]:
    if isinstance(what, TrialEnded):
        trial = TrialAnswer.of(what.trial).model_dump(mode="json")
        return {"kind": what.kind, "elapsed": what.elapsed, "trial": trial}
    found: dict[str, Any] = event.dump_python(what, mode="json")
    return found
