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
from autotune.space.schema import Space
from autotune.strategies import strategy
from autotune.text import plural, sentence
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
        lines += _axis(name, space, found)
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
        rules = [rule_text(each.rule) for each in found.limits if each.strategy == name]
        why = f" Not here: {sentence(rules[0])}" if rules and not count else ""
        yield from _comment(text + why, hang="  ")


def _axis(name: str, space: Space, found: Candidates) -> Iterator[str]:
    values, here = space.values(name), {each[name] for each in found.configurations}
    yield from _comment(describe(name), indent="  ")
    if missing := [each for each in values if each not in here]:
        yield from _comment(f"Not here: {', '.join(map(_flow, missing))}.", indent="  ")
    yield f"  {name}: {_flow(list(values))}"


def _comment(text: str, indent: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# {hang}"
    )


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("...\n").strip()
