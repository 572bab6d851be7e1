"""From values to places in a drawing, in percent of its width, so that it fits any screen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from autotune.stats import Interval

EDGE = 2.5
"""Percent of the width that stay free at either end."""
APART = 16
"""Percent of the width between two ticks at least, so that their letters have room on a phone."""
FEW = 4
"""Round values that an axis should have."""
NARROWEST = 1.25
"""An axis spans at least such a factor, so that noise does not fill it."""
FINE = 10.0
"""On an axis that spans less than such a factor, ticks are the same difference apart."""
BEYOND_POINTS = 1.6
"""An interval is drawn only so far beyond the outermost figures, as a factor."""


class Tick(NamedTuple):
    at: str
    text: str


class Reach(NamedTuple):
    at: str
    low: str
    high: str
    sure: bool
    """Whether there is no interval to draw."""


class Scale(NamedTuple):
    """A logarithmic axis: the same factor is the same distance everywhere."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Return the place of a value; what lies beyond the axis is put at its end."""
        return percent(self._place(value))

    def reach(self, interval: Interval) -> Reach:
        low, high = interval.low, interval.high
        return Reach(self.at(interval.value), self.at(low), self.at(high), low == high)

    def ticks(self) -> list[Tick]:
        """Return some round values of the axis, so far apart that their letters do not touch."""
        return [Tick(self.at(each), f"{each:,.6g}") for each in self._rounded()]

    def _rounded(self) -> list[float]:
        choices = [[each for each in c if self.low <= each <= self.high] for c in self._choices()]
        chosen = next((each for each in choices if len(each) >= FEW), choices[-1])
        kept: list[float] = []
        for value in sorted(chosen, key=lambda each: (each != 1, each)):
            if all(abs(self._place(value) - self._place(each)) >= APART for each in kept):
                kept.append(value)
        return sorted(kept)

    def _choices(self) -> Iterable[list[float]]:
        """Yield round values of the axis, ever more of them."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for leading in ((1,), (1, 3), (1, 2, 5)):
            yield [each * 10.0**decade for decade in decades for each in leading]
        power = 10.0 ** math.floor(math.log10(self.high - self.low))
        for share in (1, 0.5, 0.25, 0.2) if self.high / self.low < FINE else ():
            step = power * share
            yield [round(n * step, 12) for n in range(1, int(self.high / step) + 1)]

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
    return f"{value:.2f}%"
