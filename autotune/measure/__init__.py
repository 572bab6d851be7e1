"""From timed windows to figures with intervals, and to decisions with known error rates.

Rates are compared as logarithms, because noise multiplies: run *i* of a configuration measures
log(rate) + between_i + within_i. The noise between fresh processes is several times the noise
within one, so it is estimated from repeats and enters every comparison.
"""

from autotune.measure.compare import (
    certainly_slower,
    paired_ratio,
    shared_rounds,
    surely_below,
    unpaired_ratio,
)
from autotune.measure.estimate import Reading, mean_rate, read
from autotune.measure.interval import Interval
from autotune.measure.noise import EXPECTED, Noise, expectation, pooled_noise
from autotune.measure.steady import settled_from

__all__ = [
    "EXPECTED",
    "Interval",
    "Noise",
    "Reading",
    "certainly_slower",
    "expectation",
    "mean_rate",
    "paired_ratio",
    "pooled_noise",
    "read",
    "settled_from",
    "shared_rounds",
    "surely_below",
    "unpaired_ratio",
]
