"""The plan of a search: what it may try, and why not more. Shown before it starts."""

from __future__ import annotations

from autotune.machine import Machine
from autotune.reason import Rule
from autotune.space import Limit
from autotune.text import at_least, plural, roughly
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
    changes: tuple[Rule, ...] = ()
    """Which batches stand for the own one, where replicas do not divide it."""


class Plan(Value):
    """A search before it starts."""

    workload: str
    machine: Machine
    space: str
    objective: str = "max_throughput"
    """Name of what is optimized."""
    facts: WorkloadFacts
    strategies: tuple[StrategyPlan, ...]
    budget_seconds: float | None
    exhaustive_seconds: float = 0.0
    """Rough time that measuring every configuration once would take."""

    trial_seconds: float = 0.0
    """Rough time of a trial with the default settings, before the first one."""
    tracing_seconds: float = 0.0
    """What its first call takes of that, which traces and compiles the model."""
    enough_seconds: float | None = None
    """Rough budget with which the search can decide whether to distribute."""

    @property
    def configurations(self) -> int:
        """Configurations that can run."""
        return sum(each.configurations for each in self.strategies)


def times_in_words(plan: Plan) -> str:
    """Return what trials and search take, and which budget would do where this one is too short."""
    many, whole = plural(plan.configurations, "configuration"), roughly(plan.exhaustive_seconds)
    each = f"about {roughly(plan.trial_seconds)} each on one device"
    if plan.tracing_seconds >= 1.0:
        each += f", {roughly(plan.tracing_seconds)} of it tracing and compiling"
    text = f"{many}, {each}. Running each once would take about {whole}; "
    if plan.budget_seconds is None:
        return f"{text}this search ends after its number of trials."
    text += f"this search takes at most {roughly(plan.budget_seconds)}."
    if plan.enough_seconds and plan.budget_seconds < plan.enough_seconds:
        least = at_least(plan.enough_seconds)
        text += f" That may not be enough for an answer: try a budget of {least}."
    return text
