"""A job over HTTP: what is asked for, how it stands, and what a worker must have to run it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    PlainSerializer,
    StrictBool,
    StrictInt,
    Tag,
    computed_field,
    model_validator,
)

from autotune.answer import Verdict
from autotune.base import WHOLE, Described, Scalar
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.space import AUTO, Space
from autotune.text import is_line, plural


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    """Waits for a worker; it may have run before."""
    RUNNING = "running"
    """A worker has it, or had it until a crash; then the next one goes on with it."""
    CANCELLING = "cancelling"
    """It was cancelled, and its worker has not ended it yet."""
    DONE = "done"
    """It has a recommendation."""
    CANCELLED = "cancelled"
    """It ended by a request to cancel it; its result up to then may be there."""
    FAILED = "failed"
    """It ended without a recommendation; see its reason."""


NEXT: Mapping[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.RUNNING, State.CANCELLED}),
    # To itself: another attempt takes it over after a crash.
    State.RUNNING: frozenset(
        {State.RUNNING, State.QUEUED, State.CANCELLING, State.DONE, State.FAILED}
    ),
    State.CANCELLING: frozenset({State.CANCELLING, State.CANCELLED}),
    State.DONE: frozenset(),
    State.CANCELLED: frozenset(),
    State.FAILED: frozenset(),
}
FINAL = frozenset(state for state, following in NEXT.items() if not following)
HELD = frozenset({State.RUNNING, State.CANCELLING})
"""States in which a worker should hold the job."""
UNFINISHED = frozenset(State) - FINAL


def _line(text: str) -> str:
    if not is_line(text):
        raise ValueError("Input should have printable characters only")
    return text


Name = Annotated[str, Field(min_length=1, max_length=100)]
Line = Annotated[str, Field(strict=True, max_length=500), AfterValidator(_line)]
"""A text of printable characters."""
Label = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._/=:-]{0,62}$")]
"""A word that an operator gives to workers: `nvlink`, `rack=7`."""


_IN_ORDER = AfterValidator(lambda labels: tuple(sorted(set(labels))))
# The bounds come first, so that the JSON schema has them.
Labels = Annotated[tuple[Label, ...], Field(max_length=16), _IN_ORDER]


class Needs(Described):
    """Requirements on a worker; by default any will do."""

    devices: Annotated[int, Field(ge=1, le=4096), WHOLE] | None = None
    """Least number of devices: GPUs, TPU cores, or hosts that have neither."""
    kind: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$")] | None = None
    """A part of the name of each of them, in upper or lower case: `gpu`, `tpu`, `cpu`, `H100`."""
    labels: Labels = ()
    """Labels that the worker has."""

    def met_by(self, machine: Machine | None, labels: Iterable[str]) -> bool:
        """Return whether a worker has all of it; a machine that is not known has no devices."""
        if not set(self.labels) <= set(labels):
            return False
        if self.devices is None and self.kind is None:
            return True
        kind = (self.kind or "").lower()
        found = [each for each in _devices(machine) if kind in each.lower()]
        return len(found) >= (self.devices or 1)

    def __str__(self) -> str:
        parts = []
        if self.devices is not None or self.kind is not None:
            noun = f"{self.kind} device" if self.kind else "device"
            parts.append(f"at least {plural(self.devices or 1, noun)}")
        if self.labels:
            parts.append(f"labelled {', '.join(self.labels)}")
        return ", ".join(parts)


def _devices(machine: Machine | None) -> list[str]:
    if machine is None:
        return []
    accelerators = [f"GPU {name}" for name in machine.gpus] + ["TPU"] * machine.tpus
    return accelerators or ["CPU"] * len(machine.hosts)


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
    """Arguments on the script's command line."""
    fit: Line | None = None
    """Which `fit` of the script is tuned: a number, a line, or what it is called on."""
    dataset_params: Annotated[dict[Name, Scalar], Field(max_length=64)] = Field(
        default_factory=dict
    )
    """Arguments of the dataset function; those of the model function are in `params`."""


class Tuning(SearchOptions):
    """A request, checked and complete, as it is kept with its job."""

    workload: str
    """The name of a registered workload, or what of the uploaded code is tuned."""
    program: Program | None = None
    """The uploaded code; null for a registered workload."""
    params: dict[str, Scalar] = Field(default_factory=dict)
    """All parameters of the workload, completed by their defaults."""
    space: str | Space = AUTO
    """The name of a ready-made space, never a path, or a whole space."""
    needs: Needs = Needs()
    """Requirements on the worker that runs it."""
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


class WaitsFor(StrEnum):
    WORKER = "worker"
    """One that can run it; none that is there can."""
    TURN = "turn"
    MACHINE = "machine"
    """Its worker's machine, on which another search may run; the job's own has not begun."""


Time = Annotated[
    float,
    BeforeValidator(
        lambda given: datetime.fromisoformat(given).timestamp() if isinstance(given, str) else given
    ),
    PlainSerializer(moment, return_type=datetime, when_used="json"),
]
"""Seconds since 1970 by the database's clock; a date in JSON."""


class Waiting(Described):
    """The reason for which a job waits, as things stand."""

    kind: WaitsFor
    before: int | None = None
    """The number of jobs before it, if it waits for its turn."""

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


Text = Annotated[Line, Field(max_length=200)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_KINDS: Mapping[type, str] = {bool: "truth", int: "whole", float: "number", str: "text"}
Given = Annotated[
    Annotated[StrictBool, Tag("truth")]
    | Annotated[StrictInt, Tag("whole")]
    | Annotated[Number, Tag("number")]
    | Annotated[Text, Tag("text")],
    Discriminator(lambda given: _KINDS.get(type(given), "text")),
]
"""Strict: otherwise a one would become true. A mistake is told of the kind that was given."""
SpaceGiven = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Space, Tag("space")],
    Discriminator(lambda given: "name" if isinstance(given, str) else "space"),
]
_EXAMPLE: dict[str, JsonValue] = {
    "workload": "digits",
    "params": {"filters": 64},
    "space": "quick",
    "budget": "5min",
    "needs": {"devices": 2, "kind": "H100", "labels": ["rack=7"]},
}


class JobRequest(Tuning):
    """A request for a job: what to tune, over which space, and with which options."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    workload: Name | Literal[""] = ""
    """The name of a registered workload; left out where a `program` is given."""
    params: Annotated[dict[Name, Given], Field(max_length=64)] = Field(default_factory=dict)
    """Parameters of the workload, or of the program's model function."""
    space: SpaceGiven = AUTO
    """`auto`, the name of a ready-made space, or a whole space."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if bool(self.workload) is (self.program is not None):
            raise ValueError("either workload or program must be given")
        return self

    @property
    def fingerprint(self) -> str:
        """Equal for the same request, in whatever order its members come."""
        # Without defaults, so that a later version with more options still knows it.
        text = json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Page(Described):
    """Some jobs, newest first."""

    tunings: tuple[Job, ...]
    next: str | None
    """What to give as `before` for the next page; null at the end."""


class SeenWorker(Described):
    """A worker, as it was last seen."""

    name: str
    devices: str
    """The devices that it measures on, one job at a time."""
    machine: Machine | None
    """The machine of the devices; null while it is not known."""
    engine: str
    labels: tuple[str, ...]
    workloads: dict[str, str]
    """The digest of the code of each that it has, by name."""
    takes_code: bool | None = False
    """Whether it runs uploaded code."""
    version: str
    """The version of autotune."""
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
        """Its occupation in a few words."""
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
