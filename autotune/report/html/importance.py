"""How much each setting matters, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.config import describe
from autotune.effects import FEWEST, HOW, Effect, Effects
from autotune.report.html.scale import Reach, Tick, scale_for
from autotune.report.words import counted, share

SHOWN = 12
"""Axes that are drawn; a search has a handful that matter."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """An axis."""

    axis: str
    meaning: str
    change: str
    """From the worst value to the best."""
    factor: str
    clear: bool
    """Whether the interval is above one."""
    values: str
    reach: Reach


@dataclass(frozen=True, kw_only=True)
class Importance:
    """The figure and its table."""

    sentence: str
    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    one: str


def importance(found: Effects) -> Importance:
    """Return the figure, or the sentence that says why there is none."""
    shown = found.effects[:SHOWN]
    if not shown:
        return Importance(sentence=_why_not(found), lines=(), ticks=(), one="")
    scale = scale_for([each.factor for each in shown], 1.0)
    return Importance(
        sentence=_sentence(found),
        lines=tuple(_line(each, scale.reach(each.factor)) for each in shown),
        ticks=scale.ticks(),
        one=scale.at(1.0),
    )


def _line(effect: Effect, reach: Reach) -> Line:
    values = ", ".join(f"{value} {factor:.2f}" for value, factor in effect.values)
    return Line(
        axis=effect.axis,
        meaning=describe(effect.axis) if effect.axis != HOW else "",
        change=f"{effect.worst} \N{RIGHTWARDS ARROW} {effect.best}",
        factor=share(effect.factor),
        clear=effect.factor.low > 1,
        values=values,
        reach=reach,
    )


def _sentence(found: Effects) -> str:
    return (
        "Gain of the best value of an axis over its worst, all else equal, from an additive "
        f"model of {counted(found.configurations, 'explored configuration')} (cross-validated R² "
        f"{found.predicted or 0:.2f}). {_unclear(found.effects)}"
    ).strip()


def _unclear(effects: Sequence[Effect]) -> str:
    unclear = sum(effect.factor.low <= 1 for effect in effects)
    if not unclear:
        return ""
    whose = "1 axis has" if unclear == 1 else f"{unclear} axes have"
    return f"{whose} an interval that contains 1: no significant effect."


def _why_not(found: Effects) -> str:
    count = counted(found.configurations, "configuration")
    if found.predicted is None:
        return (
            f"{count} measured, too few to separate the effects of the settings; at least "
            f"{FEWEST} are needed. Increase the budget."
        )
    return (
        f"The {count} measured do not show which setting matters: an additive model explains at "
        f"most {found.predicted:.0%} of the differences. Settings may interact, or noise "
        "dominates."
    )
