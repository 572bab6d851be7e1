"""Two jobs beside each other: what differs, and whether their figures may be compared."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import JsonValue, computed_field

from autotune.api.values import Job, Tuning
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.result.saved import SavedConfiguration
from autotune.stats import Interval
from autotune.value import Value

_APART = {"labels", "priority", "params"}
"""Of a request, what changes no figure, and what has names of its own."""


class ObstacleKind(StrEnum):
    """Why the figures of two jobs cannot be compared."""

    NO_RESULT = "no-result"
    WORKLOAD = "workload"
    MACHINE = "machine"
    CODE = "code"
    CODE_CHANGED = "code-changed"
    OBJECTIVE = "objective"


_SENTENCES = {
    ObstacleKind.NO_RESULT: "At least one of them has no result.",
    ObstacleKind.WORKLOAD: "They are of different workloads.",
    ObstacleKind.MACHINE: "They were measured on different machines, or with different software.",
    ObstacleKind.CODE: "They measured different code, or it is not known which.",
    ObstacleKind.CODE_CHANGED: "The code was edited while one of them was measured.",
    ObstacleKind.OBJECTIVE: "They optimized different objectives.",
}


class Obstacle(Value):
    """A reason why the figures of two jobs cannot be compared."""

    kind: ObstacleKind

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        """It in words."""
        return _SENTENCES[self.kind]


class Side(Value):
    """One of the two jobs."""

    job: Job
    spent: float
    """Seconds that its search has taken."""
    machine: Machine | None = None
    """What it was measured on; this and what follows is null without a result."""
    configuration: Configuration | None = None
    """The recommended one."""
    examples_per_second: Interval | None = None
    """Its throughput; null if there were no finals."""
    best_distributed_speedup: Interval | None = None
    """Over one device, recommended or not; null if no distributed configuration was measured."""


class Difference(Value):
    """A setting that is not the same in both requests."""

    name: str
    values: tuple[JsonValue, JsonValue]
    """That of the first job and that of the second; null where it has none."""


class Comparison(Value):
    """Two jobs beside each other."""

    tunings: tuple[Side, Side]
    differences: tuple[Difference, ...]
    """In what their requests differ, by name."""
    obstacles: tuple[Obstacle, ...]
    """Why their figures cannot be compared; none if they can."""


def side(job: Job, spent: float, result: SavedConfiguration | None) -> Side:
    """Return one side of a comparison."""
    if result is None:
        return Side(job=job, spent=spent)
    return Side(
        job=job,
        spent=spent,
        machine=result.machine,
        configuration=result.configuration,
        examples_per_second=result.examples_per_second,
        best_distributed_speedup=result.best_distributed_speedup,
    )


def compared(first: Side, second: Side) -> Comparison:
    """Return two jobs beside each other."""
    kinds = (kind for kind in ObstacleKind if _stands(kind, first, second))
    return Comparison(
        tunings=(first, second),
        differences=_differences(first.job, second.job),
        obstacles=tuple(Obstacle(kind=kind) for kind in kinds),
    )


def _stands(kind: ObstacleKind, first: Side, second: Side) -> bool:
    jobs, machines = (first.job, second.job), (first.machine, second.machine)
    match kind:
        case ObstacleKind.NO_RESULT:
            return None in machines
        case ObstacleKind.WORKLOAD:
            return first.job.workload != second.job.workload
        case ObstacleKind.MACHINE:
            return len({each.fingerprint for each in machines if each}) > 1
        case ObstacleKind.CODE:
            return not first.job.code or first.job.code != second.job.code
        case ObstacleKind.CODE_CHANGED:
            return any(each.code_changed for each in jobs)
        case ObstacleKind.OBJECTIVE:
            return first.job.objective != second.job.objective


def _differences(first: Job, second: Job) -> tuple[Difference, ...]:
    mine, yours = _settings(first), _settings(second)
    return tuple(
        Difference(name=name, values=(mine.get(name), yours.get(name)))
        for name in sorted({*mine, *yours})
        if mine.get(name) != yours.get(name)
    )


def _settings(job: Job) -> dict[str, Any]:
    """Return what a job was asked for with, by name."""
    params = {f"params.{name}": value for name, value in job.params.items()}
    fields = set(Tuning.model_fields) - _APART
    return {**job.model_dump(mode="json", include=fields), **params}
