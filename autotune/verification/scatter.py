"""How much figures of one configuration differ: between its runs, and within them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from scipy.special import chdtri

from autotune.measure import Interval
from autotune.trial import Trial
from autotune.window import Window


def between_runs(rates: Sequence[float]) -> Interval:
    """Return the standard deviation of log(rate) between runs, with its 95 % interval.

    The interval is that of a normal distribution's deviation: (n - 1) s^2 / sigma^2 follows
    chi-squared with n - 1 degrees of freedom.

    Args:
        rates: Of at least two runs.
    """
    degrees = len(rates) - 1
    # Equal rates to the last digit are a clock's doing; an interval has to be positive.
    sd = max(stdev(map(math.log, rates)), 1e-6)
    low, high = (sd * math.sqrt(degrees / float(chdtri(degrees, p))) for p in (0.025, 0.975))
    return Interval(low=low, value=sd, high=high)


def within_runs(trials: Iterable[Trial]) -> float:
    """Return the standard deviation of log(rate) between the steady windows of a run.

    Pooled over all runs, each around its own mean. Stalls count in full.
    """
    squares, degrees = 0.0, 0
    for trial in trials:
        logs = [_log_rate(window) for window in trial.windows[trial.steady_from or 0 :]]
        if len(logs) > 1:
            mean = fmean(logs)
            squares += sum((each - mean) ** 2 for each in logs)
            degrees += len(logs) - 1
    return math.sqrt(squares / degrees) if degrees else 0.0


def _log_rate(window: Window) -> float:
    return math.log(window.steps / window.seconds)
