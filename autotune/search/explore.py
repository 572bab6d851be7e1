"""Tries configurations of one part of the space until its share of the budget is spent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from autotune.config import Configuration
from autotune.run.engine import Outcome
from autotune.search.additive import Additive
from autotune.search.budget import Budget
from autotune.search.dominance import Dominance
from autotune.search.history import History
from autotune.search.proposals import Proposer
from autotune.search.runner import Runner
from autotune.trial import Stage


class Explorer:
    """One stage of the search before the finals.

    Args:
        runner: Makes the trials.
        budget: Bounds them.
        stage: Which stage this is.
        share: Of what exploring may take in all, how much may be spent when this stage ends.
        reserve: Seconds that the finals will need.
        seed: Of the sampler.
    """

    def __init__(
        self,
        runner: Runner,
        budget: Budget,
        stage: Stage,
        *,
        share: float,
        reserve: Callable[[], float],
        seed: int,
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._stage = stage
        self._share = share
        self._reserve = reserve
        self._seed = seed

    @property
    def history(self) -> History:
        """Everything measured so far."""
        return self._runner.history

    def try_all(
        self, wanted: Iterable[Configuration], *, keep_going: Callable[[], bool] = lambda: True
    ) -> None:
        """Try configurations in order, each once, while the budget lasts."""
        for configuration in wanted:
            if configuration in self.history.tried:
                continue
            reason = Dominance(self.history.trials).why_not(configuration)
            if reason:
                self._runner.skip(configuration, self._stage, reason)
                continue
            if not keep_going():
                return
            if self._affords(configuration):
                self._try(configuration)
        keep_going()

    def repeat(self, configuration: Configuration) -> None:
        """Run a measured configuration a second time, in a fresh process."""
        if len(self.history.rates(configuration)) == 1 and self._affords(configuration):
            self._try(configuration)

    def propose_from(self, pool: Sequence[Configuration]) -> None:
        """Try what promises most, until the pool or the budget is spent.

        The additive model and the sampler take turns: one uses what is known, the other finds
        what does not add up.
        """
        proposer = Proposer(pool, self._seed)
        known: set[int] = set()
        for turn in itertools.count():
            self._teach(proposer, pool, known)
            untried = self._affordable(self._untried(pool))
            if not untried:
                return
            rates = shown_rates(self.history)
            use_model = turn % 2 == 0 and bool(rates)
            chosen = Additive(rates).best(untried) if use_model else proposer.propose(untried)
            self._try(chosen)

    def _untried(self, pool: Sequence[Configuration]) -> list[Configuration]:
        tried, dominance = self.history.tried, Dominance(self.history.trials)
        return [c for c in pool if c not in tried and not dominance.why_not(c)]

    def _try(self, configuration: Configuration) -> None:
        self._runner.run(configuration, self._stage, reference=self.history.reference())

    def _affords(self, configuration: Configuration) -> bool:
        return bool(self._affordable([configuration]))

    def _affordable(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Return those whose trial still fits; one with slow steps may be too long."""
        costs = self.history.costs
        most = self._budget.most(len(self.history), share=self._share, reserve=self._reserve())
        return [c for c in configurations if costs.seconds(c) <= most]

    def _teach(self, proposer: Proposer, pool: Sequence[Configuration], known: set[int]) -> None:
        mine = set(pool)
        for trial in self.history.trials:
            if trial.number in known or trial.configuration not in mine:
                continue
            known.add(trial.number)
            if trial.stage is not Stage.FINAL and trial.outcome is not Outcome.SKIPPED:
                proposer.learn(trial.configuration, trial.examples_per_second)


def shown_rates(history: History) -> dict[Configuration, float]:
    """Return the throughput of everything that ran long enough to show one."""
    rates: dict[Configuration, list[float]] = {}
    for trial in history.trials:
        if trial.examples_per_second and trial.stage is not Stage.FINAL:
            rates.setdefault(trial.configuration, []).append(trial.examples_per_second)
    return {c: math.exp(sum(map(math.log, each)) / len(each)) for c, each in rates.items()}
