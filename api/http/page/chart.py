"""The trials of a job as a drawing: each a point against the line of one device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from autotune.api.http.page.trials import STAGES
from autotune.report.words import in_short, rate
from autotune.run.engine import Outcome
from autotune.trial import Trial

LEFT, RIGHT, TOP = 56, 12, 26
LANE = 26
"""Height of the strip below zero, for trials without a figure."""
BOTTOM = 40
HEIGHT = 300
LETTER = 7.0
"""About the width of a letter, to know whether a title fits."""


class Mark(StrEnum):
    """How a trial is drawn; no two differ by colour alone."""

    ALONE = "alone"
    DISTRIBUTED = "distributed"
    PRUNED = "pruned"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Point:
    """A trial."""

    x: float
    y: float
    mark: Mark
    title: str


@dataclass(frozen=True)
class Tick:
    """A place on an axis."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Band:
    """The trials of one stage, side by side."""

    x: float
    width: float
    title: str
    """Empty where there is no room for it."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The drawing, in units of its own."""

    name: str
    width: float
    height: float
    left: float
    right: float
    top: float
    zero: float
    lane: float
    """The middle of the strip below zero."""
    points: tuple[Point, ...]
    rates: tuple[Tick, ...]
    numbers: tuple[Tick, ...]
    bands: tuple[Band, ...]
    line: Tick | None
    """Where one device is."""


@dataclass(frozen=True)
class _Scale:
    first: int
    count: int
    top: float
    """The rate at the upper edge."""
    width: float

    @property
    def slot(self) -> float:
        return (self.width - LEFT - RIGHT) / self.count

    def x(self, number: int) -> float:
        return round(LEFT + (number - self.first + 0.5) * self.slot, 1)

    def y(self, value: float) -> float:
        return round(_zero() - (_zero() - TOP) * value / self.top, 1)


def chart(name: str, trials: Sequence[Trial], baseline: float | None, width: float) -> Chart:
    """Draw some trials, of which there is at least one.

    Args:
        name: To tell two drawings on a page apart.
        trials: By number.
        baseline: Examples per second of the best single device, if that is known.
        width: Of the drawing.
    """
    highest = max([each.examples_per_second or 0 for each in trials] + [baseline or 0]) or 1
    step = _round_step(highest / 4)
    first, last = trials[0].number, trials[-1].number
    scale = _Scale(first, last - first + 1, step * math.ceil(highest / step), width)
    return Chart(
        name=name,
        width=width,
        height=HEIGHT,
        left=LEFT,
        right=width - RIGHT,
        top=TOP,
        zero=_zero(),
        lane=_zero() + LANE / 2,
        points=tuple(_point(each, scale) for each in trials),
        rates=_rates(scale, step),
        numbers=_numbers(scale),
        bands=tuple(_bands(trials, scale)),
        line=_line(baseline, scale) if baseline else None,
    )


def _line(baseline: float, scale: _Scale) -> Tick:
    return Tick(scale.y(baseline), f"best single device: {rate(baseline)}")


def _zero() -> float:
    return HEIGHT - BOTTOM - LANE


def _point(trial: Trial, scale: _Scale) -> Point:
    value = trial.examples_per_second
    return Point(
        x=scale.x(trial.number),
        y=scale.y(value) if value else _zero() + LANE / 2,
        mark=_mark(trial),
        title=_title(trial),
    )


def _mark(trial: Trial) -> Mark:
    if trial.measured:
        return Mark.DISTRIBUTED if trial.configuration.distributed else Mark.ALONE
    found = {Outcome.PRUNED: Mark.PRUNED, Outcome.SKIPPED: Mark.SKIPPED}
    return found.get(trial.outcome, Mark.FAILED)


def _title(trial: Trial) -> str:
    value = trial.examples_per_second
    figure = f"{rate(value)} examples/s" if value else "no figure"
    told = "" if trial.measured else f" ({trial.outcome})"
    return f"Trial {trial.number}{told}: {in_short(trial.configuration)}: {figure}"


def _rates(scale: _Scale, step: float) -> tuple[Tick, ...]:
    values = [i * step for i in range(round(scale.top / step) + 1)]
    return tuple(Tick(scale.y(value), rate(value) if value else "0") for value in values)


def _numbers(scale: _Scale) -> tuple[Tick, ...]:
    room = max(int((scale.width - LEFT - RIGHT) // 40), 1)
    step = max(round(_round_step(scale.count / room)), 1)
    shown = range(scale.first, scale.first + scale.count)
    return tuple(Tick(scale.x(n), str(n)) for n in shown if n % step == 0)


def _bands(trials: Sequence[Trial], scale: _Scale) -> list[Band]:
    found = []
    for stage, group in groupby(trials, key=lambda each: each.stage):
        numbers = [each.number for each in group]
        width = scale.slot * (numbers[-1] - numbers[0] + 1)
        title = STAGES[stage]
        found.append(
            Band(
                x=round(scale.x(numbers[0]) - scale.slot / 2, 1),
                width=round(width, 1),
                title=title if len(title) * LETTER < width else "",
            )
        )
    return found


def _round_step(rough: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
