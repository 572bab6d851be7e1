"""Whether a rate still climbs or falls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from autotune.window import Window

FEWEST = 4
"""Fewer windows than these show no trend that could not be chance."""
SURE = 2.0
"""Standard errors that a trend has to differ from none."""
SMALL = 0.015
"""A change by this share, from one end of the windows to the other, is no matter."""


class Trend(NamedTuple):
    """A straight line through the logarithms of the rates."""

    per_second: float
    error: float
    """Standard error of that slope."""
    seconds: float
    """Between the middles of the first and of the last window."""

    @property
    def moves(self) -> bool:
        """Whether the rate changes beyond chance, and by so much that it matters."""
        slope = abs(self.per_second)
        return slope > SURE * self.error and slope * self.seconds > SMALL


def trend_of(windows: Sequence[Window]) -> Trend | None:
    """Return the trend of some windows, None if they are too few to tell."""
    if len(windows) < FEWEST:
        return None
    times = _middles(windows)
    logs = [math.log(each.steps / each.seconds) for each in windows]
    mean, level = fmean(times), fmean(logs)
    spread = sum((at - mean) ** 2 for at in times)
    slope = sum((at - mean) * log for at, log in zip(times, logs, strict=True)) / spread
    residuals = [log - level - slope * (at - mean) for at, log in zip(times, logs, strict=True)]
    variance = sum(each**2 for each in residuals) / (len(windows) - 2)
    return Trend(slope, math.sqrt(variance / spread), times[-1] - times[0])


def _middles(windows: Sequence[Window]) -> list[float]:
    times, elapsed = [], 0.0
    for window in windows:
        times.append(elapsed + window.seconds / 2)
        elapsed += window.seconds
    return times
