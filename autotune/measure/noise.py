"""How much two fresh runs of one configuration differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from autotune.value import Value

PRIOR_SD = 0.10
"""Between-run standard deviation of log(rate) expected of a machine that nobody has measured;
8 to 16 % were seen on two shared cores."""
PRIOR_DEGREES = 4.0
"""How many repeats the expectation is worth."""


class Noise(Value):
    """Standard deviation of log(rate) between fresh runs, and how well it is known."""

    sd: float
    degrees: float
    """Degrees of freedom behind `sd`."""


def pooled_noise(groups: Iterable[Sequence[float]]) -> Noise:
    """Return the noise, estimated from repeats and drawn towards the prior while they are few.

    A scaled inverse chi-squared prior on the variance, with the residuals of each group around
    its own mean added to it.

    Args:
        groups: For each configuration, log(rate) of its runs.
    """
    squares, degrees = PRIOR_DEGREES * PRIOR_SD**2, PRIOR_DEGREES
    for logs in groups:
        if len(logs) > 1:
            mean = fmean(logs)
            squares += sum((each - mean) ** 2 for each in logs)
            degrees += len(logs) - 1
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees)
