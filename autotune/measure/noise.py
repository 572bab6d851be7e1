"""How much two fresh runs of one configuration differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from autotune.value import Value


class Noise(Value):
    """Standard deviation of log(rate) between fresh runs, and how well it is known."""

    sd: float
    degrees: float
    """Degrees of freedom behind `sd`."""


EXPECTED = Noise(sd=0.06, degrees=4.0)
"""What is expected of a machine that nobody has measured, and how many repeats that is worth;
3 to 16 % were seen on two shared cores."""


def expectation(past: Noise | None) -> Noise:
    """Return the noise to expect before anything was repeated.

    The past can only raise it. What was quiet yesterday, or with another workload, may be noisy
    today, and whoever expects too little noise stops good runs early.

    Args:
        past: What the machine's earlier searches have shown, if there were any.
    """
    if past is None or past.sd < EXPECTED.sd:
        return EXPECTED
    return Noise(sd=past.sd, degrees=EXPECTED.degrees)


def pooled_noise(groups: Iterable[Sequence[float]], expected: Noise = EXPECTED) -> Noise:
    """Return the noise, estimated from repeats and drawn towards what was expected.

    A scaled inverse chi-squared prior on the variance, with the residuals of each group around
    its own mean added to it.

    Args:
        groups: For each configuration, log(rate) of its runs.
        expected: The prior.
    """
    squares, degrees = expected.degrees * expected.sd**2, expected.degrees
    for logs in groups:
        if len(logs) > 1:
            mean = fmean(logs)
            squares += sum((each - mean) ** 2 for each in logs)
            degrees += len(logs) - 1
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees)
