"""Tries configurations of one part of the space until no more is to be gained, or time is up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from autotune.config import Configuration
from autotune.search.budget import Budget
from autotune.search.dominance import Dominance
from autotune.search.history import History
from autotune.search.outlook import Outlook
from autotune.search.runner import Runner
from autotune.trial import Stage

CHOICE = 2000
"""Configurations that are weighed against each other at a time; of a larger space that many are
drawn anew each time."""


class Explorer:
    """Chooses and makes the trials before the finals.

    Args:
        runner: Makes them.
        budget: Bounds them.
        outlook: What is worth trying.
        reserve: Seconds that the finals will need.
        seed: Of the draws from a large space.
    """

    def __init__(
        self,
        runner: Runner,
        budget: Budget,
        outlook: Outlook,
        reserve: Callable[[], float],
        *,
        seed: int,
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._outlook = outlook
        self._reserve = reserve
        self._random = random.Random(seed)  # noqa: S311 - a sample, no secret

    @property
    def history(self) -> History:
        """Everything measured so far."""
        return self._runner.history

    def try_all(
        self,
        wanted: Iterable[Configuration],
        *,
        share: float = 1.0,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try configurations in order, each once, while the budget lasts.

        Args:
            wanted: Which.
            share: Of what exploring may take in all, how much may be spent at the end.
            until: Asked before each and after the last; ends it when true.
        """
        for configuration in wanted:
            if until():
                return
            if configuration in self.history.tried:
                continue
            # What need not be run takes no time.
            if self._outlook.why_not(configuration) or self._affordable([configuration], share):
                self._try(configuration)
        until()

    def propose_from(self, pool: Sequence[Configuration], *, share: float = 1.0) -> None:
        """Try what promises most for its time, until little is promised or time is up.

        Args:
            pool: The choice.
            share: Of what exploring may take in all, how much may be spent at the end.
        """
        left = list(pool)
        while untried := self._affordable(self._untried(left), share):
            chosen = self._outlook.most_promising(self._some(untried))
            if chosen is None:
                return
            if not self._try(chosen):
                # What excludes one excludes many; they are not proposed one after the other.
                left = [each for each in left if self._outlook.why_not(each) is None]

    def _untried(self, pool: Sequence[Configuration]) -> list[Configuration]:
        tried, dominance = self.history.tried, Dominance(self.history.trials)
        return [c for c in pool if c not in tried and not dominance.why_not(c)]

    def _some(self, untried: list[Configuration]) -> list[Configuration]:
        return untried if len(untried) <= CHOICE else self._random.sample(untried, CHOICE)

    def _try(self, configuration: Configuration) -> bool:
        """Run a configuration, or keep the reason why it need not be run; return which it was."""
        stage = Stage.EXPLORE if configuration.distributed else Stage.BASELINE
        reason = self._outlook.why_not(configuration)
        if reason:
            self._runner.skip(configuration, stage, reason)
        else:
            self._runner.run(configuration, stage, reference=self._outlook.reference())
        return reason is None

    def _affordable(
        self, configurations: Sequence[Configuration], share: float
    ) -> list[Configuration]:
        """Return those whose trial still fits; one with slow steps may be too long."""
        costs = self.history.costs
        most = self._budget.most(len(self.history), share=share, reserve=self._reserve())
        return [c for c in configurations if costs.seconds(c) <= most]
