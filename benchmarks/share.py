"""How often something happened, with an interval that holds for none and for all as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from autotune.stats import Interval
from autotune.stats.intervals import around, t_quantile

NORMAL = 1.959964
"""The quantile of the normal distribution for 95 %."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many, at least one."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %, which does not end at none where none was seen."""
        weight = NORMAL**2 / self.of
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.of + weight / (4 * self.of)
        half = NORMAL * math.sqrt(spread) / (1 + weight)
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def __str__(self) -> str:
        """Return it as text, with its interval."""
        low, high = self.interval
        return f"{self.count} of {self.of} ({low:.1%} to {high:.1%})"


def log_interval(logs: Sequence[float]) -> Interval:
    """Return Student's t interval of a geometric mean, from at least two logarithms."""
    error = stdev(logs) / math.sqrt(len(logs))
    return around(fmean(logs), t_quantile(len(logs) - 1, 0.975) * error)
