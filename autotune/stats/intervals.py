"""An estimate with its 95 % interval, by Student's t distribution."""

from __future__ import annotations

import math

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
        """Return it with another standard error of its logarithm, independent of its own."""
        if not error:
            return self
        more = NORMAL_QUANTILE * error
        low, high = (
            math.exp(sign * math.hypot(math.log(bound / self.value), more))
            for sign, bound in ((-1, self.low), (1, self.high))
        )
        return self.model_copy(update={"low": self.value * low, "high": self.value * high})

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def around(mean: float, half: float) -> Interval:
    """Return the interval of exp(x) for an x within `half` of `mean`."""
    # Beyond e^300 the figure is meaningless anyway, and exp must not overflow.
    low, high = max(mean - half, -300.0), min(mean + half, 300.0)
    return Interval(low=math.exp(low), value=math.exp(mean), high=math.exp(high))


def t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which Student's t lies with a probability."""
    # Takes half a second, and most commands and the service's processes need no quantile.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))


def f_quantile(above: float, below: float, probability: float) -> float:
    """Return the value below which a ratio of two variances, of so many degrees, lies."""
    from scipy.special import fdtri  # noqa: PLC0415 - as above

    return float(fdtri(above, below, probability))


def t_probability(degrees: float, value: float) -> float:
    """Return how likely Student's t lies below a value."""
    from scipy.special import stdtr  # noqa: PLC0415 - as above

    return float(stdtr(degrees, value))
