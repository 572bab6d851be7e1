"""What is kept of every trial."""

from __future__ import annotations

from enum import StrEnum

from autotune.config import Configuration
from autotune.run.engine import Outcome
from autotune.value import Value
from autotune.window import Window


class Stage(StrEnum):
    """Why a trial was made."""

    YARDSTICK = "one device"
    """To find the best single-device configuration, with which all others are compared."""
    EXPLORE = "distributed"
    """To find a distributed configuration that may beat it."""
    FINAL = "final"
    """To measure a finalist again, in turns with the others; only these runs decide."""


class Trial(Value):
    """One run of one configuration, and what became of it."""

    number: int
    stage: Stage
    configuration: Configuration
    outcome: Outcome
    reason: str
    round: int | None = None
    """The turn within the finals."""
    examples_per_second: float | None = None
    """Throughput of the steady state; of a pruned trial, what it had shown when it was stopped."""
    sustained: float | None = None
    """Examples per second over all of the steady state, stalls included, where
    `examples_per_second` is a median over its windows."""
    error: float | None = None
    """Standard error of log(throughput) within the run."""
    windows: tuple[Window, ...] = ()
    steady_from: int | None = None
    """Index of the first window of the steady state."""
    lost_updates: float | None = None
    """Share that the optimizer's counter of updates lost because workers did not wait for each
    other; None where they do."""
    start_seconds: float | None = None
    first_step_seconds: float | None = None
    wall_seconds: float = 0.0
    peak_memory: int = 0
    work_seconds: tuple[float, ...] = ()
    """Core seconds that each worker used for a step, in the order of the workers."""
    detail: str = ""

    @property
    def measured(self) -> bool:
        """Whether its throughput may be compared."""
        return self.outcome is Outcome.MEASURED
