"""Makes the plan of a search."""

from __future__ import annotations

from autotune.config import describe
from autotune.options import SearchOptions
from autotune.plan import AxisPlan, Plan, StrategyPlan
from autotune.search.history import Costs
from autotune.search.request import Subject
from autotune.space import Candidates, Space
from autotune.strategies import strategy
from autotune.value import Scalar


def plan(subject: Subject, space: Space, found: Candidates, options: SearchOptions) -> Plan:
    """Return the card of a search."""
    return Plan(
        workload=subject.workload.name,
        machine=subject.machine,
        space=space.name,
        objective=options.objective,
        facts=subject.facts,
        strategies=tuple(_strategy_plan(name, found) for name in _names(found)),
        budget_seconds=options.budget,
        exhaustive_seconds=Costs(()).total(found.configurations),
    )


def _names(found: Candidates) -> list[str]:
    legal = [c.strategy for c in found.configurations]
    limited = [limit.strategy for limit in found.limits]
    return list(dict.fromkeys(legal + limited))


def _strategy_plan(name: str, found: Candidates) -> StrategyPlan:
    mine = [c for c in found.configurations if c.strategy == name]
    found_values: dict[str, dict[Scalar, None]] = {}
    for configuration in mine:
        for axis, value in configuration.values().items():
            found_values.setdefault(axis, {})[value] = None
    return StrategyPlan(
        name=name,
        title=strategy(name).title,
        configurations=len(mine),
        axes=tuple(
            AxisPlan(name=axis, values=tuple(values), meaning=describe(axis))
            for axis, values in found_values.items()
            if len(values) > 1
        ),
        limits=tuple(limit for limit in found.limits if limit.strategy == name),
    )
