"""The smallest gain that a number of paired runs can tell apart from nothing."""

from __future__ import annotations

import math

from autotune.measure.compare import BORROWED
from autotune.measure.intervals import t_quantile
from autotune.options import MARGIN
from autotune.search.finals import MAX_ROUNDS
from autotune.search.verdict import FALSE_RATE, FEWEST, LAST_LOOK
from autotune.value import Value

POWER = 0.8
"""How often a gain of that size is found."""


class Resolution(Value):
    """What some time of paired runs can show."""

    seconds: float
    """Of pairs alone; a search also needs time to find what to compare."""
    pairs: int
    gain: float | None
    """As a share: 0.05 is 5 %. None where the time does not suffice for a verdict."""


def resolution(seconds: float, *, sd: float, pair_seconds: float) -> Resolution:
    """Return what some time can show: no gain below the margin, which a search leaves alone.

    Args:
        seconds: The time.
        sd: Noise between fresh runs, as the standard deviation of log(throughput).
        pair_seconds: Wall time of a pair of runs.
    """
    pairs = min(int(seconds / pair_seconds), MAX_ROUNDS)
    gain = smallest_gain(sd, pairs)
    return Resolution(seconds=seconds, pairs=pairs, gain=gain and max(gain, MARGIN))


def smallest_gain(sd: float, pairs: int) -> float | None:
    """Return the smallest gain that is found with probability `POWER`, or None for too few pairs.

    The sample-size formula of a paired t-test, solved for the difference (Chow, Shao and Wang,
    Sample Size Calculations in Clinical Research, section 3.1; Lachin, Controlled Clinical Trials
    2, 1981): a mean of n differences, each with the deviation sqrt(2) sd, has to exceed

        (t(1 - a, v) + t(POWER, v)) sqrt(2 / n) sd

    with the level a that a verdict spends on its last look, and the degrees of freedom v with
    which it reads its pairs. It takes the noise for known to be `sd`. Differences of logarithms,
    so the gain is their exponential less one.

    Args:
        sd: Noise between fresh runs, as the standard deviation of log(throughput).
        pairs: How many.
    """
    if pairs < FEWEST:
        return None
    degrees = pairs - 1 + BORROWED
    level = 1 - FALSE_RATE * LAST_LOOK
    reach = t_quantile(degrees, level) + t_quantile(degrees, POWER)
    return math.expm1(reach * math.sqrt(2 / pairs) * sd)
