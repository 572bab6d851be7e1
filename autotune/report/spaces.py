"""Search spaces, for people: a list, and one as a commented file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

import yaml
from rich.console import RenderableType
from rich.text import Text

from autotune.config import Configuration, axes, describe
from autotune.machine import Machine
from autotune.report.tables import columns
from autotune.report.words import counted
from autotune.space import Candidates, Constraints, Space, candidates
from autotune.space.candidates import canonical
from autotune.space.legality import why_illegal
from autotune.strategies import strategy
from autotune.value import Scalar
from autotune.workload import WorkloadFacts

WIDTH = 96
_KINDS = {
    "cpu": "a machine without accelerators",
    "gpu": "one GPU",
    "gpus": "several GPUs",
    "tpu": "a TPU",
}


def space_list(spaces: Mapping[str, Space]) -> RenderableType:
    """Return all spaces, a row each."""
    table = columns("space", "for", "auto takes it on")
    for name, space in spaces.items():
        kind = _KINDS.get(space.chosen_for or "", "")
        table.add_row(name, space.description, Text(kind, style="dim"))
    return table


def space_text(space: Space, machine: Machine) -> str:
    """Return a space as a file that a user can copy, with what applies on a machine as comments."""
    facts = _any_workload(space)
    found = candidates(space, machine, facts, Constraints())
    lines = [
        f"name: {_flow(space.name)}",
        f"description: {_flow(space.description)}",
        "",
        *_comment(f"On this machine ({machine}):"),
        *_strategies(space, found),
        f"strategies: {_flow(list(space.strategies))}",
        "",
        *_comment("Some settings depend on the workload too; `autotune tune ... --dry-run` tells."),
        "axes:",
    ]
    for name, values in space.axes.items():
        lines += _axis(name, values, found, machine, facts)
    return "\n".join(lines) + "\n"


def _any_workload(space: Space) -> WorkloadFacts:
    """A workload that rules nothing out, so that only the machine does."""
    return WorkloadFacts(
        model_takes=space.own_axes,
        dataset_takes=("input_context", "num_parallel_calls"),
        examples=2**62,
        repeatable=True,
        file_shards=2**20,
    )


def _strategies(space: Space, found: Candidates) -> Iterator[str]:
    for name in space.strategies:
        count = sum(c.strategy == name for c in found.configurations)
        yield from _comment(f"- {name}: {counted(count, 'configuration')}. {strategy(name).doc}")
        if not count:
            rules = [limit.rule for limit in found.limits if limit.strategy == name]
            yield from _comment(f"  Not here: {rules[0]}" if rules else "")


def _axis(
    name: str,
    values: tuple[Scalar, ...],
    found: Candidates,
    machine: Machine,
    facts: WorkloadFacts,
) -> Iterator[str]:
    meaning = describe(name) if name in axes() else "An axis of your own."
    yield from _comment(meaning, indent="  ")
    for value in values:
        why = _why_absent(name, value, found.configurations, machine, facts)
        if why:
            yield from _comment(f"Not here: {_flow(value)}. {why}", indent="  ")
    yield f"  {name}: {_flow(list(values))}"


def _why_absent(
    name: str,
    value: Scalar,
    legal: Iterable[Configuration],
    machine: Machine,
    facts: WorkloadFacts,
) -> str | None:
    """Return why no configuration holds a value, from what it would break in those that run."""
    if name not in axes() or any(getattr(c, name) == value for c in legal):
        return None
    changed = (canonical(c.model_copy(update={name: value})) for c in reversed(tuple(legal)))
    holding = (c for c in changed if getattr(c, name) == value)
    reasons = (why_illegal(each, machine, facts) for each in holding)
    return next((reason for reason in reasons if reason), "No strategy that runs here takes it.")


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _flow(value: object) -> str:
    """Return a value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("...\n").strip()
