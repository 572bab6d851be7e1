"""What is left of the budget."""

from __future__ import annotations

import math
from collections.abc import Callable

from autotune.options import SearchOptions

MAX_FINALS_SHARE = 0.6
"""Of the time, the finals may set aside at most this share."""


class Budget:
    """Time and trials that a search may still spend.

    Args:
        options: Holds the bounds.
        now: The engine's clock, so that a virtual machine has virtual time.
        began: When the search began, by that clock; what is left from now on is for trials.
    """

    def __init__(self, options: SearchOptions, now: Callable[[], float], began: float) -> None:
        self._options = options
        self._now = now
        self._began = began
        # What the preparation took is nobody's share.
        self._prepared = self.elapsed

    def without(self, seconds: float) -> Budget:
        """Return the budget of those who may spend all but some seconds of this one."""
        whole = self._options.budget
        if whole is None or not seconds:
            return self
        less = self._options.model_copy(update={"budget": whole - seconds})
        return Budget(less, self._now, self._began)

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self._now() - self._began

    @property
    def left(self) -> float:
        """Seconds left; infinite without a bound."""
        if self._options.budget is None:
            return math.inf
        return self._options.budget - self.elapsed

    def most(self, trials: int, *, share: float, reserve: float) -> float:
        """Return the seconds that another exploring trial may take; below zero: none.

        Args:
            trials: Exploring trials made so far. The first one may take any time.
            share: Of what exploring may take in all, how much may be spent by now.
            reserve: Seconds that the finals will need.
        """
        if trials == 0:
            return math.inf
        count = self._options.max_trials
        if count is not None and trials >= max(1, round(count * share)):
            return -math.inf
        if self._options.budget is None:
            return math.inf
        whole = self._options.budget - self._prepared
        spent = self.elapsed - self._prepared
        return share * (whole - min(reserve, MAX_FINALS_SHARE * whole)) - spent
