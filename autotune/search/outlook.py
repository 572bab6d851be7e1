"""What the trials so far let expect of all configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev

import numpy as np

from autotune.config import Configuration
from autotune.reason import Reason
from autotune.search.bounds import Bounds
from autotune.search.dominance import Dominance
from autotune.search.history import History, Observed
from autotune.search.surrogate import Matrix, Surrogate, expected_improvement

WORTH = 0.0002
"""Expected improvement, as a share of the best throughput, for which a trial is still made."""
DOUBT = 0.3
"""Weight of the models that have explained less, where configurations were not tried: a handful of
runs that the simplest one explains do not rule out that two axes work against each other."""
OLD = 0.12
"""Standard error of log(rate) of what an earlier search has measured."""
CONTRADICTION = 0.3
"""If configurations differ today by so much from what they were to each other, in log(rate), the
workload is another one than before, whatever its fingerprint says."""


class Outlook:
    """Says what is worth trying, what cannot win, and what has done best.

    Args:
        history: Everything measured so far.
        surrogate: Expects a throughput of every configuration.
        bounds: Proves that some cannot win; None where its proofs do not hold.
        known: log(score) of what earlier searches tried, relative to their best single device.
    """

    def __init__(
        self,
        history: History,
        surrogate: Surrogate,
        bounds: Bounds | None,
        known: Mapping[Configuration, float],
    ) -> None:
        self._history = history
        self._surrogate = surrogate
        self._bounds = bounds
        self._known = {c: gap for c, gap in known.items() if c in surrogate}
        self._expected: dict[bool, dict[Configuration, Observed]] = {}
        self._trials = 0

    def why_not(self, configuration: Configuration) -> Reason | None:
        """Return why a configuration need not be run, or None if it should."""
        failed = Dominance(self._history.trials).why_not(configuration)
        if failed or self._bounds is None:
            return failed
        return self._bounds.why_not(configuration)

    def ranked(self, *, distributed: bool) -> list[Configuration]:
        """Return the measured configurations, the most promising first.

        By what all runs together let expect, because the best of many noisy figures is luck.
        """
        expected = self.expected(distributed=distributed)
        return sorted(expected, key=lambda each: -expected[each].log_score)

    def expected(self, *, distributed: bool) -> dict[Configuration, Observed]:
        """Return what all exploring runs together let expect of what was measured."""
        # Asked many times between two trials, and every answer takes a matrix to be inverted.
        if self._trials != len(self._history.trials):
            self._trials = len(self._history.trials)
            self._expected.clear()
        if distributed not in self._expected:
            self._expected[distributed] = self._expect(distributed=distributed)
        return self._expected[distributed]

    def _expect(self, *, distributed: bool) -> dict[Configuration, Observed]:
        measured = self._history.ranked(distributed=distributed)
        mine = [each for each in measured if each in self._surrogate]
        if not mine:
            return {}
        belief = self._surrogate.believe(self._shown(), mine)
        pairs = zip(belief.mean.tolist(), belief.sd.tolist(), strict=True)
        return dict(zip(mine, (Observed(*each) for each in pairs), strict=True))

    def reference(self) -> tuple[float, ...]:
        """Return the score of the best single device, as one figure; empty if there is none.

        Not what it has measured: the best of several noisy runs was lucky as well, and what is
        compared with it would be stopped too often.
        """
        best = self._best(distributed=False)
        return (math.exp(best),) if math.isfinite(best) else ()

    def most_promising(self, untried: Sequence[Configuration]) -> Configuration | None:
        """Return what is expected to gain most for its time, or None if nothing gains enough.

        A single device has to beat the best single device, because the baseline should be as
        good as it can be; several replicas have to beat everything.
        """
        shown = self._shown()
        if not shown:
            return untried[0]
        gains = self._gains(shown, untried)
        if float(gains.max()) < WORTH:
            return None
        costs = self._history.costs
        seconds = np.array([costs.seconds(each) for each in untried])
        # What hardly promises anything is not made attractive by being cheap.
        return untried[int(np.argmax(np.where(gains < WORTH, 0, gains) / seconds))]

    def _gains(
        self, shown: dict[Configuration, Observed], untried: Sequence[Configuration]
    ) -> Matrix:
        alone, several = self._best(distributed=False), self._best(distributed=True)
        goals = [max(alone, several) if each.distributed else alone for each in untried]
        belief = self._surrogate.believe(shown, untried, doubt=DOUBT)
        return expected_improvement(belief, np.array(goals))

    def _best(self, *, distributed: bool) -> float:
        """Return the highest log(rate) that all runs together let expect of what was measured."""
        expected = self.expected(distributed=distributed).values()
        return max((each.log_score for each in expected), default=-math.inf)

    def _shown(self) -> dict[Configuration, Observed]:
        today = self._history.observed()
        shown = {**self._remembered(today), **self._history.with_failures(today)}
        # A study that is resumed may hold what this version would not try.
        return {c: each for c, each in shown.items() if c in self._surrogate}

    def _remembered(self, today: Mapping[Configuration, Observed]) -> dict[Configuration, Observed]:
        """Return what earlier searches say, at today's level.

        The level is that of the configurations that were run both then and today.
        """
        levels = [today[c].log_score - gap for c, gap in self._known.items() if c in today]
        if not levels or pstdev(levels) > CONTRADICTION:
            return {}
        return {c: Observed(fmean(levels) + gap, OLD) for c, gap in self._known.items()}
