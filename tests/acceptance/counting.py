"""This machine's engine with a clock that counts runs, so that no speed decides their number."""

from __future__ import annotations

from typing import Any, Self, cast

from autotune.engine.base import A, Engine, RunResult, Task, Watch, go_on
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.train import TrialRequest

SECONDS = 150.0
"""What a run takes by that clock: more than any will take that this machine makes."""


class Counting:
    """Has another engine run trials, and says of each that it took the same time."""

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine or LocalEngine()
        self._runs = 0

    def __enter__(self) -> Self:
        """Start the engine."""
        self._engine.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self._engine.__exit__(*error)  # type: ignore[arg-type] # handed on

    def __getattr__(self, name: str) -> Any:
        """Hand on all else."""
        return getattr(self._engine, name)

    def now(self) -> float:
        """Return how long all runs have taken."""
        return SECONDS * self._runs

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        """Do it, and put the clock forward for a run."""
        answer = self._engine.execute(task, watch)
        if not isinstance(task, TrialRequest) or not isinstance(answer, RunResult):
            return answer
        self._runs += 1
        return cast("A", answer.model_copy(update={"wall_seconds": SECONDS}))
