"""What a training does between its epochs, which no trial is timed with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune.engine.base import RunResult
from autotune.engine.tasks.train import TrialTask
from autotune.reason import Outcome
from autotune.value import Value


class BetweenEpochs(Value):
    """What a delivered program does between two epochs of training, in seconds."""

    validation: float | None = None
    """Of the validation; None where nothing validates."""
    checkpoint: float | None = None
    """Of a checkpoint; None where the program saves none."""

    @property
    def seconds(self) -> float:
        """Of both together."""
        return (self.validation or 0.0) + (self.checkpoint or 0.0)


@dataclass(frozen=True, kw_only=True)
class BetweenEpochsRequest(TrialTask[BetweenEpochs | None]):
    """The program with its validation and checkpoints, in epochs of a few steps.

    Workers wait for each other, so the slowest one counts.
    """

    code = "autotune.engine.child.between:between_epochs"

    def payload(self) -> Mapping[str, Any]:
        return {**super().payload(), "validates": True}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> BetweenEpochs | None:
        if result.outcome is not Outcome.MEASURED or not answers:
            return None
        each = {name: [a[name] for a in answers if a[name]] for name in BetweenEpochs.model_fields}
        return BetweenEpochs(
            **{name: max(sum(s) / len(s) for s in found) for name, found in each.items() if found}
        )

    def not_offered(self) -> None:
        return None
