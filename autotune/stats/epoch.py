"""What is known of the epochs of a run before it begins."""

from __future__ import annotations

import math

from autotune.stats.lengths import Lengths
from autotune.value import Value


class Epoch(Value):
    """An epoch, in steps of the run, and what lies at its ends."""

    steps: float = math.inf
    """Of a whole epoch; infinite where nobody knows."""
    ready: float = 0.0
    """Steps whose examples may be ready when the run begins, or that have to pass before its
    caches are filled."""
    refill: float = 0.0
    """Steps that become ready in each second of the run."""
    pause: float = 0.0
    """Seconds for which the input alone waited as it began again, longer than between examples."""
    eventful: bool = False
    """Whether its end may cost something that a run has to see."""
    lengths: Lengths = Lengths()
    """Of its examples."""


UNKNOWN = Epoch()
"""An epoch of which nothing is known."""
