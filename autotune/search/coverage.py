"""What is to be expected of configurations that were not tried."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from autotune.config import Configuration
from autotune.search.history import Observed
from autotune.search.sampler import DOUBT
from autotune.search.surrogate import Expectations

UNLIKELY = 0.1
"""How likely any single configuration that was not tried may be to gain the margin."""


def expected_of(expectations: Expectations, untried: Configuration) -> Observed:
    """Return what is to be expected of one that was not tried."""
    belief = expectations.of([untried], doubt=DOUBT)
    if belief is None:
        return Observed(0.0, math.inf)
    return Observed(float(belief.mean[0]), float(belief.sd[0]))


def may_gain(expectations: Expectations, untried: Sequence[Configuration], margin: float) -> bool:
    """Return whether one that was not tried may be faster than one device by a margin.

    Args:
        expectations: What all runs let expect.
        untried: Distributed configurations that were neither run nor proved slower.
        margin: A gain below this share is not worth the trouble.
    """
    belief = expectations.of(untried, doubt=DOUBT) if untried else None
    if belief is None:
        return bool(untried)
    needed = expectations.best(distributed=False) + math.log1p(margin)
    return float(np.max(ndtr((belief.mean - needed) / belief.sd))) > UNLIKELY
