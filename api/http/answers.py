"""What the answers hold. Their names stay as they are; what is internal is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue, computed_field, create_model

from autotune.api.values import read
from autotune.api.workloads import Registered
from autotune.reason.sentences import reason_text
from autotune.result import Result, Verdict
from autotune.stats.intervals import Interval
from autotune.trial import Trial
from autotune.value import Described, Value


def _without(model: type[Value], *fields: str) -> dict[str, Any]:
    found = model.model_fields.items()
    return {name: (field.annotation, field) for name, field in found if name not in fields}


if TYPE_CHECKING:
    _Trial = Trial
else:
    _Trial = create_model("_Trial", __base__=Value, **_without(Trial, "windows", "detail"))


class TrialAnswer(_Trial):
    """One run of one configuration, and what became of it."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        return reason_text(self.reason)

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def global_batch(self) -> int:
        """Examples of one step."""
        return self.configuration.global_batch


class TrialsAnswer(Described):
    """Trials of a job by number."""

    trials: tuple[TrialAnswer, ...]
    next: int | None
    """What to give as `after` for the rest; null if there is none yet."""

    @classmethod
    def of(cls, records: Sequence[str], limit: int) -> TrialsAnswer:
        trials = tuple(read(TrialAnswer, each) for each in records)
        more = len(trials) == limit
        return cls(trials=trials, next=trials[-1].number if more else None)


_INTERNAL = {"schema_version", "workload", "facts", "study", "space", "options"}
_APART = {"trials"}
"""Fields of a result that have routes of their own."""
_Result: Any = create_model("_Result", __base__=Value, **_without(Result, *_INTERNAL, *_APART))


class RecommendationAnswer(_Result):
    """The result of a job: the best configuration, how sure it is, why, and the program for it."""

    verdict: Verdict
    """Whether to distribute."""
    examples_per_second: Interval | None
    """Throughput of the recommended configuration; null where it did not run."""
    gain_over_yours: Interval | None
    """How many times as good as the user's own settings it is; null where these are recommended."""
    summary: str
    """The verdict as a sentence."""
    reasons: tuple[str, ...]
    """Why, one sentence each, the most important first."""
    trials: int
    """How many there are."""

    @classmethod
    def of(cls, record: str, trials: int) -> RecommendationAnswer:
        found: RecommendationAnswer = read(cls, f'{record[:-1]},"trials":{trials}}}')
        return found


class WorkloadAnswer(Described):
    """A workload that may be asked for."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """A JSON Schema of `params`."""

    @classmethod
    def of(cls, name: str, workload: Registered) -> WorkloadAnswer:
        schema = workload.parameters.model_json_schema()
        return cls(name=name, description=workload.description, parameters=schema)


class WorkloadsAnswer(Described):
    """All workloads by name."""

    workloads: tuple[WorkloadAnswer, ...]


class HealthAnswer(Described):
    """That the service is there."""

    status: str
