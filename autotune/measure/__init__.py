"""From timed windows to figures with intervals, and to decisions with known error rates.

Rates are compared as logarithms, because noise multiplies: run *i* of a configuration measures
log(rate) + between_i + within_i. The noise between fresh processes is several times the noise
within one, so it is estimated from repeats and enters every comparison.
"""

from autotune.measure.compare import (
    EXPECTED,
    Noise,
    certainly_slower,
    expectation,
    mean_rate,
    paired_ratio,
    pooled_noise,
    shared_rounds,
    squared_residuals,
    surely_below,
    unpaired_ratio,
)
from autotune.measure.epoch import UNKNOWN, Epoch
from autotune.measure.intervals import Interval
from autotune.measure.trend import trend_of
from autotune.measure.windows import Reading, past_floor, read, settled_from, steady_from

__all__ = [
    "EXPECTED",
    "UNKNOWN",
    "Epoch",
    "Interval",
    "Noise",
    "Reading",
    "certainly_slower",
    "expectation",
    "mean_rate",
    "paired_ratio",
    "past_floor",
    "pooled_noise",
    "read",
    "settled_from",
    "shared_rounds",
    "squared_residuals",
    "steady_from",
    "surely_below",
    "trend_of",
    "unpaired_ratio",
]
