"""Random search, and the care to measure the best few again."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from autotune.config import Configuration
from benchmarks.tuners.meter import Meter, Tuner

BEST = 3
TIMES = 2
"""How often each of the best is measured again."""


def at_random(configurations: Sequence[Configuration], meter: Meter, seed: int) -> None:
    shuffle = random.Random(seed)  # noqa: S311 - an order of runs
    for each in shuffle.sample(configurations, len(configurations)):
        if meter.left <= 0:
            return
        meter.measure(each)


def with_best_again(tuner: Tuner) -> Tuner:
    """Return a tuner that keeps time to measure its best few again, and only believes that."""

    def search(
        configurations: Sequence[Configuration], meter: Meter, seed: int
    ) -> Configuration | None:
        first = _First(meter, BEST * TIMES * meter.trial_seconds)
        tuner(configurations, first, seed)
        best = sorted(first.rates, key=lambda c: -first.rates[c])[:BEST]
        again: dict[Configuration, list[float]] = {each: [] for each in best}
        for each in best * TIMES:
            rate = meter.measure(each) if meter.left > 0 else None
            if rate:
                again[each].append(math.log(rate))
        told = {each: fmean(logs) for each, logs in again.items() if logs}
        return max(told, key=lambda c: told[c], default=None)

    return search


@dataclass
class _First:
    """A meter of which some seconds are kept."""

    meter: Meter
    kept: float
    rates: dict[Configuration, float] = field(default_factory=dict)

    @property
    def left(self) -> float:
        return self.meter.left - self.kept

    @property
    def trial_seconds(self) -> float:
        return self.meter.trial_seconds

    def measure(self, configuration: Configuration) -> float | None:
        rate = self.meter.measure(configuration)
        if rate:
            self.rates[configuration] = rate
        return rate
