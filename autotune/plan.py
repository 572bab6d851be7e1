"""The plan of a search: what it may try, and why not more. Shown before it starts."""

from __future__ import annotations

from autotune.machine import Machine
from autotune.space import Limit
from autotune.value import Scalar, Value
from autotune.workload import WorkloadFacts


class AxisPlan(Value):
    """One axis under one strategy."""

    name: str
    values: tuple[Scalar, ...]
    meaning: str


class StrategyPlan(Value):
    """One strategy in a search."""

    name: str
    title: str
    configurations: int
    axes: tuple[AxisPlan, ...]
    limits: tuple[Limit, ...]


class Plan(Value):
    """A search before it starts."""

    workload: str
    machine: Machine
    space: str
    objective: str = "throughput"
    """Name of what is optimized."""
    facts: WorkloadFacts
    strategies: tuple[StrategyPlan, ...]
    budget_seconds: float | None
    exhaustive_seconds: float
    """Rough time that measuring every configuration once would take."""

    @property
    def configurations(self) -> int:
        """Configurations that can run."""
        return sum(each.configurations for each in self.strategies)
