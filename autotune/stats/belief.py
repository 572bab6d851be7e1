"""What to believe of a gain that is only announced where it turned out large.

Of many comparisons those are announced that crossed a line, and at a line luck helps: where a gain
of a tenth is hard to see, only its luckiest measurements are seen, at twice its size. What is
believed of a gain does not depend on why it is looked at, if what gains are like is reckoned with
(Efron, Tweedie's formula and selection bias, 2011).
"""

from __future__ import annotations

import math

from autotune.stats.compare import Estimate
from autotune.stats.intervals import Interval

USUAL = 0.1
"""Half of all gains of distribution, as logarithms, lie within so much of zero: the scale of a
Cauchy distribution, whose long tails leave a large gain that is well measured as it is."""
REACH = 20.0
"""Standard errors on either side of a measurement in which the truth is looked for."""
POINTS = 801


def believed(gain: Estimate) -> Interval:
    """Return the median and the central 95 % of what to believe of a gain."""
    import numpy as np  # noqa: PLC0415 - most commands compare nothing

    steps = np.linspace(-REACH, REACH, POINTS)
    truths = gain.mean + steps * gain.error
    likelihood = (1 + steps**2 / gain.degrees) ** (-(gain.degrees + 1) / 2)
    below = np.cumsum(likelihood / (USUAL**2 + truths**2))
    low, value, high = np.interp([0.025, 0.5, 0.975], below / below[-1], truths).tolist()
    return Interval(low=math.exp(low), value=math.exp(value), high=math.exp(high))


def rate_of_winner(rate: Estimate, gain: Estimate, share: float) -> Interval:
    """Return the rate of a configuration that was chosen for its gain.

    As much of the gain as luck made was luck of both sides; the rate is corrected for its part.

    Args:
        rate: Of its runs.
        gain: Over what it was compared with, of the same runs.
        share: Of the variance of the gain, what its own runs contribute.
    """
    belief, own = believed(gain), rate.interval()
    rest = math.sqrt(1 - share) * math.log(own.high / own.value)
    middle = rate.mean - share * (gain.mean - math.log(belief.value))
    down = math.hypot(rest, share * math.log(belief.value / belief.low))
    up = math.hypot(rest, share * math.log(belief.high / belief.value))
    return Interval(low=math.exp(middle - down), value=math.exp(middle), high=math.exp(middle + up))
