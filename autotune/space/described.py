"""A search space as a commented file, for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import yaml

from autotune.config import axes, default_of, describe
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.space.enumerate import Candidates, candidates
from autotune.space.legality import Situation
from autotune.space.schema import Space
from autotune.strategies import strategy
from autotune.text import plural, sentence
from autotune.value import Scalar
from autotune.workload import Returned, WorkloadFacts

WIDTH = 96


def space_text(space: Space, machine: Machine) -> str:
    """Return a space as a file that a user can copy, with what applies on a machine as comments."""
    found = candidates(space, machine, any_workload(space), SearchOptions())
    lines = [
        f"name: {_flow(space.name)}",
        f"description: {_flow(space.description)}",
        "",
        *_comment(f"On this machine ({machine}):"),
        *_strategies(space, found),
        f"strategies: {_flow(list(space.strategies))}",
        "",
        *_comment("Some settings also depend on the workload; see `autotune tune ... --dry-run`."),
        "axes:",
    ]
    for name in space.axes:
        lines += _axis(name, space, found, machine)
    others = [name for name in axes() if name not in {"strategy", *space.axes}]
    if others:
        lines += ["", *_comment("The other axes stay at their defaults:")]
    for name in others:
        lines += _comment(f"{name}: {_flow(default_of(name))}. {describe(name)}", hang="  ")
    return "\n".join(lines) + "\n"


def any_workload(space: Space) -> WorkloadFacts:
    """Return a workload that rules nothing out, so that only the machine does."""
    parameters = (axis.needs_parameter for axis in axes().values())
    return WorkloadFacts(
        model_takes=space.own_axes,
        dataset_takes=("input_context", *filter(None, parameters)),
        examples=2**62,
        repeatable=True,
        file_shards=2**20,
        returned=Returned(by_python=True),
    )


def _strategies(space: Space, found: Candidates) -> Iterator[str]:
    for name in space.strategies:
        count = sum(c.strategy == name for c in found.configurations)
        text = f"- {name}: {plural(count, 'configuration')}. {strategy(name).doc}"
        why = "" if count else f" Not here: {_first_rule(name, found)}"
        yield from _comment(text + why, hang="  ")


def _axis(name: str, space: Space, found: Candidates, machine: Machine) -> Iterator[str]:
    values = space.values(name)
    yield from _comment(describe(name), indent="  ")
    for value in values:
        if not any(each[name] == value for each in found.configurations):
            why = _why_absent(name, value, space, found, machine)
            yield from _comment(f"Not here: {_flow(value)}. {why}", indent="  ", hang="  ")
    yield f"  {name}: {_flow(list(values))}"


def _why_absent(name: str, value: Scalar, space: Space, found: Candidates, machine: Machine) -> str:
    """Return what a value would break, from a configuration that runs without it."""
    where = Situation(machine=machine, facts=any_workload(space))
    for each in map(strategy, space.strategies):
        if not each.has(name):
            continue
        runs = next((c for c in found.configurations if c.strategy == each.name), None)
        if runs is None:
            return _first_rule(each.name, found)
        why = where.why_illegal(runs.taking({name: value}))
        if why:
            return sentence(rule_text(why))
    return "No strategy of this space uses it."


def _first_rule(name: str, found: Candidates) -> str:
    return next(
        (sentence(rule_text(each.rule)) for each in found.limits if each.strategy == name), ""
    )


def _comment(text: str, indent: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# {hang}"
    )


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("...\n").strip()
