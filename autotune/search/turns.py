"""Rounds in which configurations take turns, each time in a fresh process.

What a machine does to all runs of a round cancels in their ratios.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from autotune.config import Configuration
from autotune.search.epochs import as_it_lasts
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.stats import Interval, Noise, paired_ratio, shared_rounds
from autotune.trial import Stage, Trial


class Turns:
    """Runs configurations in rounds, in random order within each, and keeps what they showed.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        seed: Of the order within each round.
    """

    def __init__(self, runner: Runner, budget: Budget, *, seed: int) -> None:
        self._runner = runner
        self._budget = budget
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self.trials: dict[Configuration, dict[int, Trial]] = defaultdict(dict)
        """Runs that were measured, by round."""
        self.scores: dict[Configuration, dict[int, float]] = defaultdict(dict)
        """How good each of them is."""
        self.unmeasured: dict[Configuration, list[Trial]] = defaultdict(list)
        """All other runs, oldest first."""

    def affords(self, configurations: Sequence[Configuration], beside: float = 0.0) -> bool:
        """Whether a round of these is expected to leave so many seconds."""
        costs = self._runner.history.costs.total(configurations)
        return self._budget.left >= costs + beside

    def take(
        self, configurations: Sequence[Configuration], number: int, *, ahead: float | None = None
    ) -> None:
        """Run each of these once.

        Args:
            configurations: What takes part in this round.
            number: Of the round.
            ahead: Steady seconds within which the end of an epoch is waited for; None: as usual.
        """
        for each in self._random.sample(configurations, len(configurations)):
            self._note(self._runner.run(each, Stage.FINAL, turn=number, ahead=ahead), number)

    def ratio(
        self, one: Configuration, other: Configuration, noise: Noise, *, confidence: float = 0.95
    ) -> Interval | None:
        """Return how many times better one is, if both were measured in two rounds."""
        mine, theirs = shared_rounds(one, other, self.scores)
        return paired_ratio(mine, theirs, noise, confidence=confidence) if len(mine) > 1 else None

    def rounds(self, one: Configuration, other: Configuration) -> int:
        """Return the number of rounds in which both were measured."""
        return len(shared_rounds(one, other, self.scores)[0])

    def _note(self, trial: Trial, number: int) -> None:
        if trial.measured and self._runner.subject.scorer(trial):
            self.trials[trial.configuration][number] = trial
        else:
            self.unmeasured[trial.configuration].append(trial)
        self._rate()

    def _rate(self) -> None:
        """Score all runs, earlier ones as well: one may show what the others had found ready."""
        subject = self._runner.subject
        for configuration, runs in self.trials.items():
            for number, trial in runs.items():
                runs[number] = as_it_lasts(trial, subject)
                self.scores[configuration][number] = subject.scorer(runs[number]) or 0.0
