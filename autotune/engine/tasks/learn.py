"""A training whose gradients tell what an example teaches at other batch sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autotune.engine.base import RunResult
from autotune.engine.tasks.train import TrialTask, is_over
from autotune.reason import Outcome
from autotune.stats.gradients import Learning, Unpredictable


@dataclass(frozen=True, kw_only=True)
class LearningRequest(TrialTask[Learning]):
    """A training of one device, with one step for each call, at the user's own batch.

    What was found when the trial's whole limit ends it counts.
    """

    code = "autotune.engine.child.learn:learn"

    seconds: float = 10.0
    """For training and taking gradients together, once training has begun."""

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Learning:
        over = is_over(result)
        if answers and (result.outcome is Outcome.MEASURED or over):
            found = Learning.model_validate(answers[0])
        else:
            found = self._refused(Unpredictable.NO_TIME if over else Unpredictable.FAILED)
        return found.model_copy(update={"seconds": result.wall_seconds})

    def not_offered(self) -> Learning:
        return self._refused(Unpredictable.NOT_OFFERED)

    def _refused(self, why: Unpredictable) -> Learning:
        return Learning(batch=self.trial.configuration.global_batch, refused=why)
