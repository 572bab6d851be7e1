"""From the windows of a run to its rate, and from runs to the rate of a configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from autotune.measure.interval import Interval, around, log_interval
from autotune.measure.noise import Noise
from autotune.measure.steady import rate
from autotune.measure.student import t_quantile
from autotune.value import Value
from autotune.window import Window


class Reading(Value):
    """What the steady windows of one run say."""

    steps_per_second: float
    """Median over the windows: for comparisons, because rare stalls dominate a mean."""
    sustained: float
    """Steps per second over all of that time, stalls included, as in a longer run."""
    error: float
    """Standard error of log(rate) within the run."""
    windows: int
    seconds: float


def read(windows: Sequence[Window]) -> Reading:
    """Return what some steady windows say, at least one.

    The standard error of the median follows from the median absolute deviation: 1.4826 turns that
    into a standard deviation, 1.2533 (the square root of pi/2) is what a median loses against a
    mean, both for a normal distribution.
    """
    logs = [math.log(rate(each)) for each in windows]
    middle = median(logs)
    spread = 1.4826 * median(abs(each - middle) for each in logs)
    return Reading(
        steps_per_second=math.exp(middle),
        sustained=sum(each.steps for each in windows) / sum(each.seconds for each in windows),
        error=1.2533 * spread / math.sqrt(len(logs)),
        windows=len(logs),
        seconds=sum(each.seconds for each in windows),
    )


def mean_rate(rates: Sequence[float], noise: Noise) -> Interval:
    """Return the rate of a configuration from its runs.

    With three runs or more their own scatter gives the interval; with fewer, the noise seen on
    the machine so far.

    Args:
        rates: One figure for each run, at least one.
        noise: Between-run noise.
    """
    logs = [math.log(each) for each in rates]
    if len(logs) >= 3:
        return log_interval(logs)
    half = t_quantile(noise.degrees, 0.975) * noise.sd / math.sqrt(len(logs))
    return around(fmean(logs), half)
