"""A few configurations in fresh runs that take turns, compared by the posterior of all of them."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from autotune.config import Configuration
from autotune.search.belief import Learner
from autotune.search.kernel import Matrix
from autotune.search.question import DRAWS, interval_of
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.stats import Interval
from autotune.trial import Stage, Trial


class Turns:
    """Runs each configuration once in every round, in random order.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        arms: The configurations.
        seed: Of the order within each round.
    """

    def __init__(
        self, runner: Runner, budget: Budget, arms: Sequence[Configuration], *, seed: int
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._arms = list(arms)
        self._learner = Learner(runner.history, self._arms)
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self._rounds = 0
        self.unmeasured: dict[Configuration, list[Trial]] = defaultdict(list)
        """Runs that were not measured, oldest first."""

    def affords(self) -> bool:
        """Whether there is time for another round."""
        return self._runner.history.costs.total(self._arms) <= self._budget.left

    def take(self) -> None:
        """Run each once."""
        for each in self._random.sample(self._arms, len(self._arms)):
            trial = self._runner.run(each, Stage.REPEAT, turn=self._rounds)
            if not (trial.measured and self._runner.subject.scorer(trial)):
                self.unmeasured[each].append(trial)
        self._rounds += 1

    def measured(self, configuration: Configuration) -> list[Trial]:
        """Return the runs of a configuration that were measured."""
        trials = self._runner.history.trials
        return [t for t in trials if t.configuration == configuration and t.measured]

    def rounds(self, *arms: Configuration) -> int:
        """Return how often all of some configurations were measured."""
        return min(len(self.measured(each)) for each in arms)

    def ratio(self, one: Configuration, other: Configuration) -> Interval | None:
        """Return how many times better one is; None before both were measured twice."""
        return interval_of(self._gaps(one, other)) if self.rounds(one, other) > 1 else None

    def chance(self, one: Configuration, other: Configuration, least: float) -> float:
        """Return how likely one is at least so many times as good as the other."""
        return float(np.mean(self._gaps(one, other) > math.log(least)))

    def _gaps(self, one: Configuration, other: Configuration) -> Matrix:
        learned = self._learner.learn()
        rows = [self._arms.index(each) for each in (one, other)]
        joint = learned.joint(rows)
        drawn = joint.draw(DRAWS, 0, [0, 1])
        gaps: Matrix = drawn[:, 0] - drawn[:, 1]
        return gaps
