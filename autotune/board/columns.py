"""The columns of TensorBoard's table of trials: which, of which type, and which come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from autotune.config import axes, default_of
from autotune.plan import Plan
from autotune.run.engine import Outcome
from autotune.strategies import strategies
from autotune.trial import Stage
from autotune.value import Scalar

FIRST = ("outcome", *(name for name, axis in axes().items() if not axis.short))
"""What tells a trial from the others. Of the settings the table shows five before it is asked, by
name among those that are said to differ."""
RATE, RATIO = "examples per second", "times one device"
FIGURES = {
    RATE: "",
    RATIO: "As a multiple of the fastest run of one device until then.",
    "first step (s)": "",
    "peak memory (MiB)": "",
}
"""The figures of a trial in the order of the table, with what needs to be said of them."""
_CHOICES: Mapping[str, Sequence[str]] = {
    "outcome": tuple(Outcome),
    "stage": tuple(Stage),
    "strategy": tuple(strategies()),
}


class Column(TypedDict):
    """A setting."""

    name: str
    kind: str
    """`str`, `float` or `bool`."""
    choices: Sequence[str]
    """All that it can be; empty where nobody can say so."""
    first: bool


def columns(plan: Plan) -> list[Column]:
    """Return the columns of all settings that a trial of a search has."""
    examples = {name: setting(name, default_of(name)) for name in axes()}
    own = {axis.name: axis.values[0] for each in plan.strategies for axis in each.axes}
    named = {**own, **examples, "stage": "", "outcome": ""}
    return [_column(name, value) for name, value in named.items()]


def setting(name: str, value: Scalar) -> Scalar:
    """Return the value of an axis, in one type each, because a column holds one type."""
    return str(value) if name in axes() and default_of(name) == "auto" else value


def _column(name: str, value: Scalar) -> Column:
    return Column(name=name, kind=_kind(value), choices=_CHOICES.get(name, ()), first=name in FIRST)


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "bool"
    return "str" if isinstance(value, str) else "float"
