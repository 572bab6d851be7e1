"""What the answers hold. Their names stay as they are; what is internal is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict, JsonValue, TypeAdapter

from autotune.api.happenings import Happening, TrialEnded
from autotune.api.states import State
from autotune.api.values import Job, JobEvent, JobTrial, Page
from autotune.api.workloads import Registered
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.recommendation import Recommendation, Verdict
from autotune.run.engine import Outcome
from autotune.space import Constraints, Space
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


class TuningAnswer(Value):
    """A job as it stands."""

    id: str
    url: str
    """Its address."""
    state: State
    workload: str
    params: dict[str, Scalar]
    """All parameters of the workload, completed by their defaults."""
    space: str | Space
    budget_seconds: float
    max_trials: int | None
    constraints: Constraints
    margin: float
    seed: int
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
        request = job.request.model_dump(exclude={"params", "seconds"})
        same = {"id", "state", "verdict", "summary", "reason"}
        return cls.model_validate(
            {
                **request,
                **job.model_dump(include=same),
                "url": address(job.id),
                "params": dict(job.request.params),
                "budget_seconds": job.budget_seconds,
                "progress": job.model_dump(include=set(ProgressAnswer.model_fields)),
                "created_at": moment(job.created_at),
                "started_at": job.started_at and moment(job.started_at),
                "ended_at": job.ended_at and moment(job.ended_at),
            }
        )


class TuningsAnswer(Value):
    """Some jobs, newest first."""

    tunings: tuple[TuningAnswer, ...]
    next: str | None
    """What to give as `before` for the next page; null at the end."""

    @classmethod
    def of(cls, page: Page) -> TuningsAnswer:
        """Return the answer for a page."""
        return cls(tunings=tuple(map(TuningAnswer.of, page.jobs)), next=page.next_before)


class TrialAnswer(Value):
    """One run of one configuration, and what became of it."""

    number: int
    stage: Stage
    round: int | None
    """The turn within the finals."""
    outcome: Outcome
    reason: str
    configuration: Configuration
    global_batch: int
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

    @classmethod
    def of(cls, trial: Trial) -> TrialAnswer:
        """Return the answer for a trial, without its windows and what it printed."""
        same = set(cls.model_fields) & set(Trial.model_fields)
        fields = {name: getattr(trial, name) for name in same}
        return cls(global_batch=trial.configuration.global_batch, **fields)


class TrialsAnswer(Value):
    """Trials of a job by number."""

    trials: tuple[TrialAnswer, ...]
    next: int | None
    """What to give as `after` for the rest; null if there is none yet."""

    @classmethod
    def of(cls, found: tuple[JobTrial, ...], limit: int) -> TrialsAnswer:
        """Return the answer for some trials, of which at most `limit` were asked for."""
        more = len(found) == limit
        trials = tuple(TrialAnswer.of(each.trial) for each in found)
        return cls(trials=trials, next=found[-1].number if more else None)


class EventAnswer(Value):
    """Something that happened to a job. What else it holds depends on its kind."""

    model_config = ConfigDict(extra="allow")

    number: int
    """Counts from one without gaps."""
    at: datetime
    kind: str

    @classmethod
    def of(cls, event: JobEvent) -> EventAnswer:
        """Return the answer for an event."""
        return cls.model_validate(
            {"number": event.number, "at": moment(event.at), **_body(event.body)}
        )


class ProgramAnswer(Value):
    """The training program."""

    train: str
    """`train.py`: byte for byte the one that was timed."""
    launch: str | None
    """`launch.py`, which starts its workers on one machine; null for one process."""


class RecommendationAnswer(Value):
    """The best configuration, how sure it is, why, and the program for it."""

    verdict: Verdict
    summary: str
    reasons: tuple[str, ...]
    configuration: Configuration
    global_batch: int
    examples_per_second: Interval | None
    """Null if the finals did not take place."""
    speedup: Interval
    """As a multiple of the best single device's throughput, with its 95 % interval."""
    over_default: Interval | None
    """As a multiple of what Keras does by itself."""
    one_device: Configuration | None
    """The best single-device configuration of the finals."""
    best_distributed: Configuration | None
    """The best distributed finalist, recommended or not."""
    distributed_speedup: Interval | None
    margin: float
    program: ProgramAnswer
    machine: Machine
    seed: int
    seconds: float
    trials: int
    interrupted: bool

    @classmethod
    def of(cls, result: Recommendation) -> RecommendationAnswer:
        """Return the answer for a recommendation."""
        same = set(cls.model_fields) & set(Recommendation.model_fields) - {"trials"}
        return cls(
            configuration=result.config,
            global_batch=result.config.global_batch,
            program=ProgramAnswer(train=result.script, launch=result.launch),
            trials=len(result.trials),
            **{name: getattr(result, name) for name in same},
        )


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


_happening = TypeAdapter[Happening](Happening)


def _body(happening: Happening) -> dict[str, Any]:
    if isinstance(happening, TrialEnded):
        trial = TrialAnswer.of(happening.trial).model_dump(mode="json")
        return {"kind": happening.kind, "elapsed": happening.elapsed, "trial": trial}
    found: dict[str, Any] = _happening.dump_python(happening, mode="json")
    return found
