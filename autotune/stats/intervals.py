"""An estimate with its 95 % interval, by Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from autotune.value import Value

NORMAL_QUANTILE = 1.959964
"""Half the width of a 95 % interval, in standard errors that are known."""


class Interval(Value):
    """A positive estimate with its 95% confidence interval."""

    low: float
    value: float
    high: float

    def down_to(self, share: float) -> Interval:
        """Return it for a figure of which only a share may be left."""
        return self.model_copy(update={"low": self.low * share})

    def widened(self, error: float) -> Interval:
        """Return it for a figure with another error, which is independent of those it holds.

        Args:
            error: Standard error of the figure's logarithm.
        """
        if not error:
            return self
        more = NORMAL_QUANTILE * error
        low, high = (
            math.exp(sign * math.hypot(math.log(bound / self.value), more))
            for sign, bound in ((-1, self.low), (1, self.high))
        )
        return self.model_copy(update={"low": self.value * low, "high": self.value * high})

    def __str__(self) -> str:
        """Return it as text, three digits each."""
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def log_interval(logs: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Return Student's t interval of a geometric mean.

    Args:
        logs: Natural logarithms of independent positive figures, at least two.
        confidence: Probability of the two-sided interval, between 0 and 1.
    """
    mean = fmean(logs)
    error = stdev(logs) / math.sqrt(len(logs))
    half = t_quantile(len(logs) - 1, (1 + confidence) / 2) * error
    return around(mean, half)


def around(mean: float, half: float) -> Interval:
    """Return the interval of exp(x) for an x within `half` of `mean`."""
    # Beyond e^300 the figure is meaningless anyway, and exp must not overflow.
    low, high = max(mean - half, -300.0), min(mean + half, 300.0)
    return Interval(low=math.exp(low), value=math.exp(mean), high=math.exp(high))


def t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which a variable of this distribution lies with a probability.

    Args:
        degrees: Of freedom.
        probability: Between 0 and 1.
    """
    # Takes half a second, and most commands and the service's processes need no quantile.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))


def f_quantile(above: float, below: float, probability: float) -> float:
    """Return the value below which a ratio of two variances lies with a probability.

    Args:
        above: Degrees of freedom of the first.
        below: Degrees of freedom of the second.
        probability: Between 0 and 1.
    """
    from scipy.special import fdtri  # noqa: PLC0415 - as above

    return float(fdtri(above, below, probability))


def t_probability(degrees: float, value: float) -> float:
    """Return how likely a variable of Student's t distribution lies below a value."""
    from scipy.special import stdtr  # noqa: PLC0415 - as above

    return float(stdtr(degrees, value))
