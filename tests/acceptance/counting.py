"""This machine's engine with a clock that counts runs, so that no speed decides their number."""

from typing import cast

from autotune.engine.base import A, Engine, RunResult, Task, Watch, go_on
from autotune.engine.local import LocalEngine
from autotune.engine.resolve import Interruptible
from autotune.engine.tasks import TrialRequest

SECONDS = 150.0
"""What a run takes by that clock: more than any will take that this machine makes."""


class Counting(Interruptible):
    """Has another engine run trials, and says of each that it took the same time."""

    def __init__(self, engine: Engine | None = None) -> None:
        super().__init__(engine or LocalEngine())
        self._runs = 0

    def now(self) -> float:
        return SECONDS * self._runs

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        answer = self._engine.execute(task, watch)
        if not isinstance(task, TrialRequest) or not isinstance(answer, RunResult):
            return answer
        self._runs += 1
        return cast("A", answer.model_copy(update={"wall_seconds": SECONDS}))
