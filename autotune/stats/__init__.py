"""From timed windows to figures with intervals, and to decisions with known error rates.

Rates are compared as logarithms, because noise multiplies: run *i* of a configuration measures
log(rate) + between_i + within_i. The noise between fresh processes is several times the noise
within one; `autotune.search.posterior` learns it from repeats.
"""

from autotune.stats.intervals import (
    EXPECTED as EXPECTED,
    Interval as Interval,
    Noise as Noise,
    mean_rate as mean_rate,
    pooled_noise as pooled_noise,
    squared_residuals as squared_residuals,
    t_quantile as t_quantile,
    unpaired_ratio as unpaired_ratio,
)
from autotune.stats.windows import (
    BLOCK_SECONDS as BLOCK_SECONDS,
    UNKNOWN as UNKNOWN,
    Epoch as Epoch,
    Lengths as Lengths,
    Reading as Reading,
    drained as drained,
    past_floor as past_floor,
    read as read,
    steady_from as steady_from,
    trend_of as trend_of,
    warmed_up_from as warmed_up_from,
)
