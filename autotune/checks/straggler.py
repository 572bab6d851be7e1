"""The worker for which a worker group waits, and what the group would reach without it.

Workers that train apart, each with a batch in memory, wait for nobody: what a step takes each of
them is its own. What the group's step takes beyond the longest of these is the exchange. Without
its slowest worker a group of n waits for the next one, and exchanges among n - 1: a ring of fewer
hosts passes fewer bytes and has fewer neighbours, and at worst takes as long as before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from autotune.checks.breakdown import Straggler
from autotune.stats import Interval, Noise
from autotune.stats.intervals import t_quantile

UNEQUAL = 1.25
"""A worker that takes so many times as long as the others is a straggler."""


def straggler(seconds: Sequence[float]) -> Straggler | None:
    """Return the worker for which the others wait, or None if all take about equally long.

    The seconds are those that each worker takes, or works, for a step of its own.
    """
    if len(seconds) < 2:
        return None
    worker = max(range(len(seconds)), key=lambda each: seconds[each])
    others = median(each for i, each in enumerate(seconds) if i != worker)
    factor = seconds[worker] / others if others > 0 else 1.0
    if factor < UNEQUAL:
        return None
    return Straggler(worker=worker, factor=factor, seconds=tuple(seconds))


def slow_worker(seconds: Sequence[float], together: float, noise: Noise) -> Straggler | None:
    """Return the worker whose own step takes significantly longer, and what its going would bring.

    The seconds are those of a step of each worker by itself, and of the group together.
    """
    found = straggler(seconds)
    half = math.sqrt(2) * noise.sd * t_quantile(noise.degrees, 0.975)
    if found is None or math.log(found.factor) <= half:
        return None
    low, value, high = sorted(_without(seconds, together))
    spread = math.exp(half)
    without = Interval(low=low / spread, value=value, high=high * spread)
    return found.model_copy(update={"without": without})


def _without(seconds: Sequence[float], together: float) -> list[float]:
    """Return the gain without the slowest, whatever the exchange consists of."""
    count, (*_, next_one, slowest) = len(seconds), sorted(seconds)
    exchange = max(together - slowest, 0.0)
    left = count - 1
    bytes_ = (left - 1) / left * count / left
    neighbours = (left - 1) / left
    unchanged = 1.0 if left > 1 else 0.0
    return [
        left / count * max(together, slowest) / (next_one + part * exchange)
        for part in (unchanged, bytes_, neighbours)
    ]
