"""A training to a loss on examples that it does not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune.engine.base import RunResult
from autotune.engine.tasks.train import TrialTask, is_over
from autotune.learning import Curve, Unraced
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text


@dataclass(frozen=True, kw_only=True)
class TrainingRequest(TrialTask[Curve]):
    """A training of one device to a loss on examples that it does not see."""

    code = "autotune.engine.child.train_to_loss:train_to_loss"

    examples: int
    """Of an epoch, those that are held out included."""
    validates: bool = False
    """Whether the loss is that of what the user validates with; else examples are held out."""
    look: int
    """Examples between two looks at the loss, about."""
    most: int
    """Examples after which it ends: the training that the learning rate warms up for."""
    loss: float | None = None
    """At which it ends; None for the training that sets it."""
    seconds: float | None = None
    """After which it ends, from its first step on; None: only the examples count."""

    def told(self) -> Mapping[str, Any]:
        configuration = self.trial.configuration
        batch, calls = configuration.global_batch, configuration.steps_per_execution
        steps = max(round(self.look / (batch * calls)), 1) * calls
        return {**super().told(), "steps": steps, "target": self.loss}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Curve:
        if result.outcome is Outcome.MEASURED:
            return Curve.model_validate(answers[0])
        if is_over(result):
            return Curve(refused=Unraced.NO_TIME)
        return Curve(refused=Unraced.FAILED, detail=reason_text(result.reason))

    def not_offered(self) -> Curve:
        return Curve(refused=Unraced.NOT_OFFERED)
