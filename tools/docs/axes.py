"""The pages of the axes, from the one declaration of each."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import product
from typing import Any, get_args, get_origin

from annotated_types import Ge

from autotune.axis import always
from autotune.base import Scalar
from autotune.config import Configuration, axes, default_of, describe, schema_of, type_of
from autotune.program import render
from autotune.space import ready_made
from autotune.strategies import strategies, strategy
from autotune.workload import WorkloadFacts
from tests.engines.fake import fake_machine
from tools.docs import samples
from tools.docs.pages import code, page, table, wrapped

SOURCE = "autotune/config.py"
_INTRODUCTION = (
    "An axis is one setting that a search may vary: a field of `Configuration` in "
    f"`{SOURCE}`. Its default is the behaviour of Keras or TensorFlow by itself. An axis that "
    "a space does not name stays at its default. These pages follow from that declaration."
)
_PARTS = (
    (Configuration(strategy="mirrored", replicas_per_worker=2), "more than one replica"),
    (Configuration(strategy="multi_worker_mirrored", workers=2), "more than one worker"),
)
_STARTS = (
    Configuration(),
    *(start for start, _ in _PARTS),
    Configuration(strategy="parameter_server", workers=2, servers=1, shard_policy="data"),
)
_MACHINE = fake_machine(cpus=16)


def pages() -> Mapping[str, str]:
    lines = {"axes.md": _index(), **{f"axes/{name}.md": _lines(name) for name in axes()}}
    return {name: page(SOURCE, each, name) for name, each in lines.items()}


def _index() -> Iterator[str]:
    yield from ("# Axes", "", wrapped(_INTRODUCTION), "")
    rows = (
        (f"[{name}](axes/{name}.md)", _text(default_of(name)), describe(name)) for name in axes()
    )
    yield from table(("axis", "default", "meaning"), rows)


def _lines(name: str) -> Iterator[str]:
    yield from (f"# {name}", "", wrapped(describe(name)), "")
    yield from table(("property", "here"), _facts(name))
    yield from _spaces(name)
    yield from _change(name)


def _facts(name: str) -> Iterator[tuple[str, str]]:
    yield "Values", _values(type_of(name))
    yield "Default", _text(default_of(name))
    yield "Matters", _when(name)
    yield "Strategies", _strategies(name)


def _values(hint: Any) -> str:
    """Return what a value may be, in words."""
    bounds = [mark.ge for mark in _marks(hint) if isinstance(mark, Ge)]
    plain = get_args(hint)[0] if _marks(hint) else hint
    if plain is bool:
        return "`true` or `false`"
    if plain is int:
        return f"a whole number from {bounds[0]} on"
    if plain is str:
        return ", ".join(f"[`{each}`](../strategies/{each}.md)" for each in strategies())
    if get_origin(plain) is not None and all(isinstance(v, str) for v in get_args(plain)):
        return ", ".join(f"`{each}`" for each in get_args(plain))
    return ", or ".join(_values(each) for each in get_args(plain))


def _marks(hint: Any) -> list[Any]:
    """Return what an annotation holds beside the type."""
    marks = list(getattr(hint, "__metadata__", ()))
    return marks + [inner for mark in marks for inner in getattr(mark, "metadata", ())]


def _when(name: str) -> str:
    axis = axes()[name]
    if axis.needs_parameter:
        return f"where the dataset factory declares `{axis.needs_parameter}`"
    if axis.where:
        return "with some workloads"
    if axis.matters is always or axis.matters_in(Configuration()):
        return "always"
    fitting = (text for sample, text in _PARTS if axis.matters_in(sample))
    return f"with {next(fitting, 'some other axes')}"


def _strategies(name: str) -> str:
    having = [each for each in strategies().values() if each.has(name)]
    if len(having) == len(strategies()):
        return "all"
    return ", ".join(f"[{each.title}](../strategies/{each.name}.md)" for each in having)


def _spaces(name: str) -> Iterator[str]:
    rows = [
        (f"`{space}`", ", ".join(map(_text, each.axes[name])))
        for space, each in ready_made().items()
        if name in each.axes
    ]
    if rows:
        yield from ("", "## In the ready-made spaces", "")
        yield from table(("space", "values, the most promising first"), rows)


def _change(name: str) -> Iterator[str]:
    for start, changed in _examples(name):
        difference = _diff(start, changed, samples.facts_for(axes()[name]))
        if difference:
            value = _text(changed[name], quoted=False)
            yield from ("", "## What it changes", "")
            yield from (f"In the program, from the default to `{name}: {value}`:", "")
            yield from code("diff", difference)
            return


def _examples(name: str) -> Iterator[tuple[Configuration, Configuration]]:
    """Yield configurations that run, and the same with another value of an axis."""
    if name == "strategy":  # Each has a page of its own.
        return
    for start, value in product(_STARTS, _choices(name)):
        changed = start.taking({name: value})
        if value != start[name] and _runs(start) and _runs(changed):
            yield start, changed


def _choices(name: str) -> list[Scalar]:
    """Return values of an axis: those of the ready-made spaces, or else any."""
    spaces = ready_made().values()
    found = list(dict.fromkeys(v for space in spaces for v in space.axes.get(name, ())))
    numbers = sorted(each for each in found if isinstance(each, int) and each > 1)
    kinds = schema_of(name)
    listed: list[Scalar] = kinds.get(
        "enum", [True, False] if kinds.get("type") == "boolean" else [8, 1]
    )
    return numbers + [each for each in found if isinstance(each, str)] + listed


def _runs(configuration: Configuration) -> bool:
    plan = strategy(configuration.strategy)
    return plan.why_illegal(configuration, _MACHINE, samples.plain_facts()) is None


def _diff(one: Configuration, other: Configuration, facts: WorkloadFacts) -> str:
    """Return what differs in the programs of two configurations, without what tells of it."""
    before, after = (_program(each, facts).splitlines() for each in (one, other))
    lines = list(unified_diff(before, after, n=1, lineterm=""))[2:]
    return "\n".join("@@" if line.startswith("@@") else line for line in lines)


def _program(configuration: Configuration, facts: WorkloadFacts) -> str:
    found = render(configuration, samples.WORKLOAD, facts, samples.CPUS)
    # The docstring says the same in words, and the launcher only starts processes.
    parts = [text.partition('"""\n\n')[2] for text in (found.train, found.launch or "")]
    return "\n".join(parts)


def _text(value: Scalar, *, quoted: bool = True) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if quoted else text
