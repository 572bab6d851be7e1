"""The seconds of a step, and how sure a sum of them is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from autotune.value import Value


class Timing(Value):
    """What a step takes, as a mean over runs."""

    seconds: float
    runs: int = 1


class Amount(NamedTuple):
    """Seconds of a step, with their standard deviation."""

    seconds: float
    deviation: float


Sum = Mapping[Timing, float]
"""Timings, each with the factor by which it counts."""


def amount(terms: Sum, noise: float) -> Amount:
    """Return a sum of independent timings.

    Args:
        terms: What is added up.
        noise: Standard deviation of log(rate) between runs.
    """
    parts = [(factor * each.seconds, each.runs) for each, factor in terms.items()]
    deviation = math.hypot(*(noise * seconds / math.sqrt(runs) for seconds, runs in parts))
    return Amount(sum(seconds for seconds, _ in parts), deviation)
