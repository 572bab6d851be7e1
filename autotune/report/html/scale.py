"""From values to places in a drawing, in percent of its width, so that it fits any screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autotune.stats import Interval

EDGE = 2.5
"""Percent of the width that stay free at either end."""
APART = 16
"""Percent of the width between two ticks at least, so that their letters have room on a phone."""
FEW, MANY = 4, 7
"""How many ticks an axis should have."""
NARROWEST = 1.25
"""An axis spans at least such a factor, so that noise does not fill it."""
FINE = 10.0
"""On an axis that spans less than such a factor, ticks are the same difference apart."""
BEYOND_POINTS = 1.6
"""An interval is drawn only so far beyond the outermost figures, as a factor."""


@dataclass(frozen=True)
class Tick:
    """A place on an axis."""

    at: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Reach:
    """A figure with its interval, as places."""

    at: str
    low: str
    high: str
    sure: bool
    """Whether there is no interval to draw."""


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis: the same factor is the same distance everywhere."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Return the place of a value; what lies beyond the axis is put at its end."""
        return percent(self._place(value))

    def above(self, value: float) -> str:
        """Return the place of a value on an upright axis, from above."""
        return percent(100 - self._place(value))

    def reach(self, interval: Interval) -> Reach:
        """Return the places of a figure and its interval."""
        low, value, high = interval.low, interval.value, interval.high
        return Reach(at=self.at(value), low=self.at(low), high=self.at(high), sure=low == high)

    def ticks(self) -> tuple[Tick, ...]:
        """Return some round values of the axis, so far apart that their letters do not touch."""
        return tuple(Tick(self.at(each), f"{each:,.6g}") for each in self._rounded())

    def levels(self) -> tuple[Tick, ...]:
        """Return the same of an upright axis."""
        return tuple(Tick(self.above(each), f"{each:,.6g}") for each in self._rounded())

    def _rounded(self) -> list[float]:
        kept: list[float] = []
        for value in sorted(_round(self.low, self.high), key=lambda each: (each != 1, each)):
            if all(abs(self._place(value) - self._place(each)) >= APART for each in kept):
                kept.append(value)
        return sorted(kept)

    def _place(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return EDGE + share * (100 - 2 * EDGE)


def scale_for(intervals: Iterable[Interval], *held: float) -> Scale:
    """Return an axis for some figures with their intervals.

    Args:
        intervals: What is to be drawn, at least one.
        held: Further values that the axis has to show.
    """
    known = tuple(intervals)
    points = [*(each.value for each in known), *held]
    least, most = min(points), max(points)
    low = max(min(least, *(each.low for each in known)), least / BEYOND_POINTS)
    high = min(max(most, *(each.high for each in known)), most * BEYOND_POINTS)
    spare = max(NARROWEST / (high / low), 1.0) ** 0.5
    return Scale(low / spare, high * spare)


def percent(value: float) -> str:
    """Return a place as SVG takes it."""
    return f"{value:.2f}%"


def _round(low: float, high: float) -> Sequence[float]:
    """Return round values between two, about as many as there is room for."""
    choices = [*_decades(low, high)]
    if high / low < FINE:
        choices += _even(low, high)
    return min(choices, key=lambda each: max(FEW - len(each), len(each) - MANY, 0))


def _decades(low: float, high: float) -> Iterable[list[float]]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for apart, leading in ((3, (1,)), (2, (1,)), (1, (1,)), (1, (1, 3)), (1, (1, 2, 5))):
        powers = [10.0**each for each in exponents if each % apart == 0]
        every = [each * power for power in powers for each in leading]
        yield [each for each in every if low <= each <= high]


def _even(low: float, high: float) -> Iterable[list[float]]:
    power = 10.0 ** math.floor(math.log10(high - low))
    for step in (power * each for each in (5, 2.5, 2, 1, 0.5, 0.25, 0.2)):
        numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        yield [round(number * step, 12) for number in numbers if number > 0]
