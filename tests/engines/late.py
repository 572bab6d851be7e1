"""An engine that ends what its limits end, and on which one kind of task takes far too long."""

from typing import Any, cast

from autotune.config import Configuration
from autotune.engine.base import A, Limits, RunResult, Task, Watch, go_on
from autotune.engine.tasks import BetweenEpochsRequest, InspectionRequest, TrialRequest
from autotune.reason import Outcome, Overdue, Phase
from tests.engines.fake import FakeEngine, fake_learning

LATE = 1000.0
"""Seconds that it takes then."""


def speed(configuration: Configuration) -> float:
    """Two replicas gain, so that all is done that a search can do."""
    return 10_000 * configuration.global_batch**0.3 * (1.4 if configuration.distributed else 1.0)


class Late(FakeEngine):
    """Takes too long for one kind of task, or for trials after the first few.

    Args:
        late: Name of the kind's class.
    """

    def __init__(self, late: str) -> None:
        super().__init__(speed, learning=fake_learning(500.0))
        self._late = late
        self._trials = 0

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        answer: Any
        if isinstance(task, BetweenEpochsRequest) and self._late != "BetweenEpochsRequest":
            self._time += 5.0
            answer = 0.5
        elif not self._is_late(task):
            return super().execute(task, watch)
        else:
            limits = task.limits if isinstance(task, InspectionRequest) else _trial(task).limits
            ended = self._ended(limits)
            answer = ended if isinstance(task, TrialRequest) else cast("Any", task).answer(ended)
        return cast("A", answer)

    def _is_late(self, task: Task[Any]) -> bool:
        if isinstance(task, TrialRequest):
            self._trials += 1
            if self._late == "Profile":
                return task.held
            return self._late == "TrialRequest" and self._trials > 3
        return type(task).__name__ == self._late

    def _ended(self, limits: Limits) -> RunResult:
        """Return what a watchdog says of processes that come to nothing."""
        took = min(LATE, limits.start, limits.whole)
        self._time += took
        phase = Phase.WHOLE if took == limits.whole else Phase.START
        return RunResult(
            outcome=Outcome.HUNG, reason=Overdue(phase=phase, seconds=took), wall_seconds=took
        )


def _trial(task: Any) -> TrialRequest:
    return task if isinstance(task, TrialRequest) else task.trial


def engine() -> Late:
    return Late("TrialRequest")
