"""Makes the plan of a search."""

from __future__ import annotations

from autotune.config import axes, describe
from autotune.plan import AxisPlan, Plan, StrategyPlan
from autotune.search.costs import Costs
from autotune.search.options import Options
from autotune.search.subject import Subject
from autotune.space import Candidates, Space
from autotune.strategies import strategy


def plan(subject: Subject, space: Space, found: Candidates, options: Options) -> Plan:
    """Return the card of a search."""
    return Plan(
        workload=subject.workload.name,
        machine=subject.machine,
        space=space.name,
        facts=subject.facts,
        strategies=tuple(_strategy_plan(name, found) for name in _names(found)),
        budget_seconds=options.seconds,
        exhaustive_seconds=Costs(()).total(found.configurations),
    )


def _names(found: Candidates) -> list[str]:
    legal = [c.strategy for c in found.configurations]
    limited = [limit.strategy for limit in found.limits]
    return list(dict.fromkeys(legal + limited))


def _strategy_plan(name: str, found: Candidates) -> StrategyPlan:
    mine = [c for c in found.configurations if c.strategy == name]
    values = {axis: tuple(dict.fromkeys(getattr(c, axis) for c in mine)) for axis in axes()}
    own = dict.fromkeys(pair for c in mine for pair in c.arguments)
    for axis in dict.fromkeys(axis for axis, _ in own):
        values[axis] = tuple(value for other, value in own if other == axis)
    return StrategyPlan(
        name=name,
        title=strategy(name).title,
        configurations=len(mine),
        axes=tuple(
            AxisPlan(name=axis, values=found_values, meaning=_meaning(axis))
            for axis, found_values in values.items()
            if len(found_values) > 1
        ),
        limits=tuple(limit for limit in found.limits if limit.strategy == name),
    )


def _meaning(axis: str) -> str:
    return describe(axis) if axis in axes() else "User-defined axis."
