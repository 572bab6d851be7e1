"""From timed windows to figures with intervals, and to decisions with known error rates.

Rates are compared as logarithms, because noise multiplies: run *i* of a configuration measures
log(rate) + between_i + within_i. The noise between fresh processes is several times the noise
within one, so it is estimated from repeats and enters every comparison.
"""

from autotune.stats.belief import believed, rate_of_winner
from autotune.stats.compare import (
    EXPECTED,
    UNMEASURED,
    Estimate,
    Expected,
    Noise,
    certainly_slower,
    expectation,
    joined,
    mean_rate,
    paired,
    paired_ratio,
    pooled_noise,
    root_mean_square,
    shared_rounds,
    significantly_below,
    squared_residuals,
    unpaired_ratio,
)
from autotune.stats.epoch import UNKNOWN, Epoch, Lengths
from autotune.stats.intervals import Interval
from autotune.stats.windows import (
    Reading,
    drained,
    past_floor,
    read,
    steady_from,
    trend_of,
    warmed_up_from,
)

__all__ = [
    "EXPECTED",
    "UNKNOWN",
    "UNMEASURED",
    "Epoch",
    "Estimate",
    "Expected",
    "Interval",
    "Lengths",
    "Noise",
    "Reading",
    "believed",
    "certainly_slower",
    "drained",
    "expectation",
    "joined",
    "mean_rate",
    "paired",
    "paired_ratio",
    "past_floor",
    "pooled_noise",
    "rate_of_winner",
    "read",
    "root_mean_square",
    "shared_rounds",
    "significantly_below",
    "squared_residuals",
    "steady_from",
    "trend_of",
    "unpaired_ratio",
    "warmed_up_from",
]
