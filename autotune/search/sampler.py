"""Who proposes what to try next.

A sampler chooses among the configurations that were not tried and are not excluded. The search
calls it between the first, designed trials and the finals; which one it calls is decided by
`SAMPLER` only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from autotune.config import Configuration
from autotune.search.history import History
from autotune.search.surrogate import Belief, Expectations, Matrix

WORTH = 0.0002
"""Expected improvement, as a share of the best score, for which a trial is still made."""
DOUBT = 0.3
"""Weight of the models that have explained less, where configurations were not tried: a handful of
runs that the simplest one explains do not rule out that two axes work against each other."""


class Sampler(Protocol):
    """Proposes what to try next. Made anew for each search."""

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration | None:
        """Return one of the untried configurations, or None if no trial of them is worth it.

        Args:
            history: Everything that was tried so far.
            untried: The choice, at least one.
        """
        ...


class ExpectedImprovement:
    """Proposes what is expected to gain most for its time, by a mixture of Gaussian processes.

    A single device has to beat the best single device, because the baseline should be as good as
    it can be; several replicas have to beat everything.

    Args:
        expectations: What all runs let expect.
    """

    def __init__(self, expectations: Expectations) -> None:
        self._expectations = expectations

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration | None:
        """Return what promises most, or None if nothing promises enough."""
        belief = self._expectations.of(untried, doubt=DOUBT)
        if belief is None:
            return untried[0]
        gains = expected_improvement(belief, self._goals(untried))
        if float(gains.max()) < WORTH:
            return None
        seconds = np.array([history.costs.seconds(each) for each in untried])
        # What hardly promises anything is not made attractive by being cheap.
        return untried[int(np.argmax(np.where(gains < WORTH, 0, gains) / seconds))]

    def _goals(self, untried: Sequence[Configuration]) -> Matrix:
        """Return the log(score) that each would have to exceed."""
        one_device = self._expectations.best(distributed=False)
        anything = max(one_device, self._expectations.best(distributed=True))
        return np.array([anything if each.distributed else one_device for each in untried])


def expected_improvement(belief: Belief, best: Matrix | float) -> Matrix:
    """Return how much better than `best` each is expected to be, in log(score).

    By the formula of Jones et al. (1998).
    """
    z = (belief.mean - best) / belief.sd
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    gains: Matrix = belief.sd * (z * ndtr(z) + density)
    return gains


MakeSampler = Callable[[Expectations, int], Sampler]
"""Makes a sampler for one search, from its expectations, which hold pool and history, and seed."""
SAMPLER: MakeSampler = lambda expectations, _: ExpectedImprovement(expectations)  # noqa: E731 - typed
"""The sampler of a search that is not given another one."""
