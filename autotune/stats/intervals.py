"""Estimates with their 95 % intervals, by Student's t distribution, and the noise between runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from autotune.base import Value
from autotune.text import rate

SDS = 1.959964
"""Standard errors to each side of a 95 % interval, by the normal distribution."""


class Interval(Value):
    """A positive estimate with its 95% confidence interval."""

    low: float
    value: float
    high: float

    def down_to(self, share: float) -> Interval:
        """Return it for a figure of which only a share may be left."""
        return self.model_copy(update={"low": self.low * share})

    def under(self, amount: float) -> Interval:
        """Return an amount divided by it, such as the seconds of so many examples at a rate."""
        return Interval(low=amount / self.high, value=amount / self.value, high=amount / self.low)

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def around(mean: float, half: float) -> Interval:
    """Return the interval of exp(x) for an x within `half` of `mean`."""
    # Beyond e^300 the figure is meaningless anyway, and exp must not overflow.
    low, value, high = (
        math.exp(min(max(log, -300.0), 300.0)) for log in (mean - half, mean, mean + half)
    )
    return Interval(low=low, value=value, high=high)


def times(ratio: Interval) -> str:
    """Return a ratio with its interval: `1.34 times (1.21 to 1.48)`."""
    return f"{ratio.value:.2f} times ({_bounds(ratio)})"


def rate_with_error(interval: Interval) -> str:
    """Return a rate with its uncertainty: `12,345 ±4%`."""
    error = f"±{spread(interval):.0%}" if _is_known(interval) else "(not known yet)"
    return f"{rate(interval.value)} {error}"


def spread(interval: Interval) -> float:
    """Return the longer half of an interval, as a share of the figure."""
    return max(interval.high / interval.value - 1, 1 - interval.low / interval.value)


def share(interval: Interval | None) -> str:
    """Return a ratio with its interval: `1.34 (1.21 to 1.48)`; `-` for an unknown one."""
    if interval is None:
        return "-"
    if interval.low == interval.high:
        return f"{interval.value:.2f}"
    return f"{interval.value:.2f} ({_bounds(interval)})"


def _bounds(interval: Interval) -> str:
    known = f"{interval.low:.2f} to {interval.high:.2f}"
    return known if _is_known(interval) else "not known yet"


def _is_known(interval: Interval) -> bool:
    """Return whether a figure is known to within a factor of ten either way."""
    return interval.high <= 10 * interval.value and interval.value <= 10 * interval.low


def t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which Student's t lies with a probability."""
    # Takes half a second, and most commands and the service's processes need no quantile.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, probability))


class Noise(Value):
    """Standard deviation of log(rate) between fresh runs, and how well it is known."""

    sd: float
    degrees: float
    """Degrees of freedom behind `sd`."""


EXPECTED = Noise(sd=0.06, degrees=4.0)
"""What is expected of a machine that nobody has measured, and how many repeats that is worth;
3 to 16 % were seen on two shared cores."""


def squared_residuals(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the sum of squares of groups around their own means, and its degrees of freedom."""
    squares, degrees = 0.0, 0
    for values in groups:
        if len(values) > 1:
            mean = fmean(values)
            squares += sum((each - mean) ** 2 for each in values)
            degrees += len(values) - 1
    return squares, degrees


def mean_rate(rates: Sequence[float], noise: Noise) -> Interval:
    """Return the rate of a configuration from its runs, at least one."""
    logs = [math.log(each) for each in rates]
    half = t_quantile(noise.degrees, 0.975) * noise.sd / math.sqrt(len(logs))
    return around(fmean(logs), half)


def unpaired_ratio(a: Interval, b: Interval) -> Interval:
    """Return a ratio of two independent figures: errors of logarithms add as squares."""
    half = math.hypot(math.log(a.high / a.value), math.log(b.high / b.value))
    return around(math.log(a.value / b.value), half)
