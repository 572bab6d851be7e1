"""Figures with their intervals: how often something happened, and geometric means."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from autotune.stats.intervals import SDS, Interval, around, t_quantile

BOOTSTRAPS = 1000
Statistic = Callable[[np.ndarray], float]


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many, at least one."""

    count: int
    of: int

    @property
    def value(self) -> float:
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 %, which does not end at none where none was seen."""
        weight = SDS**2 / self.of
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.of + weight / (4 * self.of)
        half = SDS * math.sqrt(spread) / (1 + weight)
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} of {self.of} ({low:.1%} to {high:.1%})"


ITSELF = Interval(low=1.0, value=1.0, high=1.0)
"""What anything is as a multiple of itself."""


def scaled(interval: Interval, factor: float) -> Interval:
    low, value, high = (factor * each for each in (interval.low, interval.value, interval.high))
    return Interval(low=low, value=value, high=high)


def bootstrap(tables: Sequence[np.ndarray], statistic: Statistic) -> tuple[float, float]:
    """Return a 95 % interval over tables and searches: both are drawn again."""
    draw = np.random.default_rng(0)
    found = []
    for _ in range(BOOTSTRAPS):
        chosen = [tables[i] for i in draw.integers(len(tables), size=len(tables))]
        found.append(statistic(np.concatenate([draw.choice(each, len(each)) for each in chosen])))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def covers(interval: Interval | None, truth: float) -> bool | None:
    """Return whether an interval holds the truth; None where there is none."""
    return None if interval is None else interval.low <= truth <= interval.high


def ratio_in_turns(mine: Mapping[int, float], other: Mapping[int, float]) -> Interval | None:
    """Return one rate as a multiple of another; None unless both are known of two turns.

    The scatter of the pairs alone gives the interval, and nothing that autotune believes.
    """
    logs = [math.log(mine[turn] / other[turn]) for turn in mine.keys() & other.keys()]
    return log_interval(logs) if len(logs) >= 2 else None


def log_interval(logs: Sequence[float]) -> Interval:
    """Return Student's t interval of a geometric mean, from at least two logarithms."""
    error = stdev(logs) / math.sqrt(len(logs))
    return around(fmean(logs), t_quantile(len(logs) - 1, 0.975) * error)
