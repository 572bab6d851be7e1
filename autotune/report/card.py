"""The card of a search: its size, its axes, what limited it, and the time that it may take."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.report.tables import columns
from autotune.report.words import counted, roughly, sentence, size
from autotune.search.plan import Plan, StrategyPlan
from autotune.workload import WorkloadFacts


def card(plan: Plan) -> RenderableType:
    """Return what a search will look at, and why not at more."""
    parts: list[RenderableType] = [_head(plan), Text(), _strategies(plan)]
    if any(each.axes for each in plan.strategies):
        parts += [Text(), _axes(plan)]
    return Group(*parts, Text(), _time(plan))


def _head(plan: Plan) -> Text:
    head = Text.assemble(
        ("autotune ", "dim"), (plan.workload, "bold"), f" on {plan.machine}, space {plan.space}\n"
    )
    return head.append(_facts(plan.facts), style="dim")


def _facts(facts: WorkloadFacts) -> str:
    each = size(facts.example_bytes)
    many = facts.examples
    examples = f"{counted(many, 'example')} of {each}" if many else f"uncounted examples of {each}"
    parts = [examples, f"a model of {facts.weights:,} weights", facts.optimizer, facts.loss]
    return "; ".join(filter(None, parts))


def _strategies(plan: Plan) -> Table:
    table = columns("strategy", ">configurations", "left out, and why")
    for each in plan.strategies:
        table.add_row(each.title, f"{each.configurations:,}", _limits(each))
    return table


def _limits(each: StrategyPlan) -> Table:
    rules = Table.grid(padding=(0, 1))
    rules.add_column(justify="right", no_wrap=True)
    for limit in sorted(each.limits, key=lambda limit: -limit.configurations):
        rules.add_row(f"{limit.configurations:,}", Text(sentence(limit.rule), style="dim"))
    return rules


def _axes(plan: Plan) -> Table:
    table = columns("axis", "values", "meaning")
    every = [axis for each in plan.strategies for axis in each.axes]
    for name in dict.fromkeys(axis.name for axis in every):
        mine = [axis for axis in every if axis.name == name]
        values = dict.fromkeys(value for axis in mine for value in axis.values)
        table.add_row(name, ", ".join(map(str, values)), Text(mine[0].meaning, style="dim"))
    return table


def _time(plan: Plan) -> Text:
    whole = roughly(plan.exhaustive_seconds)
    text = Text(f"{counted(plan.configurations, 'configuration')}. To run each of them once would ")
    text.append(f"take about {whole}; ")
    if plan.budget_seconds is None:
        return text.append("this search ends after its number of trials.")
    return (
        text.append("this search takes at most ")
        .append(roughly(plan.budget_seconds), style="bold")
        .append(".")
    )
