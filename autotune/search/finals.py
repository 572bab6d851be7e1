"""The finals: the best few measured again, in fresh processes that take turns.

Only these runs decide. The measurements that selected the finalists are not reused, because the
best of many noisy figures is too high.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from autotune.config import Configuration
from autotune.measure import Interval, Noise, mean_rate, paired_ratio
from autotune.recommendation import Verdict
from autotune.search.budget import Budget
from autotune.search.history import History
from autotune.search.runner import Runner
from autotune.search.verdict import EARLY, ROUNDS, Decision, Rates, best_of, decide, shared
from autotune.trial import Stage, Trial

CHALLENGERS = 2
"""Distributed finalists at most."""
DEFAULT_ROUNDS = 2
"""Rounds in which the default takes part, to say what tuning gained; it decides nothing."""
MAX_ROUNDS = 12
"""Beyond these, more rounds would tell apart only what does not matter."""
OUT = 0.99
"""Confidence with which a finalist must be slower to drop out."""


@dataclass(frozen=True, kw_only=True)
class Finalists:
    """Who takes part."""

    one_device: tuple[Configuration, ...]
    """The best single-device configuration and, if it is as good, the second."""
    challengers: tuple[Configuration, ...]
    default: Configuration
    """What Keras does by itself, to say what tuning gained."""

    @property
    def all(self) -> tuple[Configuration, ...]:
        """Each once."""
        return tuple(dict.fromkeys([*self.one_device, *self.challengers, self.default]))


def choose_finalists(history: History, default: Configuration) -> Finalists:
    """Return the finalists: who is not certainly slower than the best."""
    alone = history.ranked(distributed=False)
    best = history.estimate(alone[0])
    close = best.value / (1 + history.noise.sd)
    second = [c for c in alone[1:2] if history.estimate(c).value > close]
    rivals = history.not_surely_slower(history.ranked(distributed=True))
    return Finalists(
        one_device=(alone[0], *second),
        challengers=tuple(rivals[:CHALLENGERS]),
        default=default,
    )


def finals_seconds(history: History, finalists: Finalists) -> float:
    """Return the wall time that a decision is expected to take."""
    needed = [*finalists.one_device[:1], *finalists.challengers]
    rounds = ROUNDS if finalists.challengers else EARLY
    costs = history.costs
    return rounds * costs.total(needed) + DEFAULT_ROUNDS * costs.seconds(finalists.default)


class Finals:
    """Runs the finals round by round until they have decided.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        finalists: Who takes part.
        margin: A gain below this share is not worth the trouble.
        seed: Of the order within each round.
    """

    def __init__(
        self, runner: Runner, budget: Budget, finalists: Finalists, *, margin: float, seed: int
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._finalists = finalists
        self._margin = margin
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self._rates: dict[Configuration, dict[int, float]] = defaultdict(dict)
        self._alive = list(finalists.all)

    @property
    def rates(self) -> Rates:
        """Throughput of each finalist, by round."""
        return self._rates

    def run(self) -> None:
        """Make rounds until they decide, or time or rounds run out."""
        for number in range(MAX_ROUNDS):
            if not self._affords() or self._decided(number):
                return
            for configuration in self._random.sample(self._alive, len(self._alive)):
                self._note(self._runner.run(configuration, Stage.FINAL, turn=number), number)
            self._drop(number + 1)

    def decision(self) -> Decision:
        """Return what the rounds so far allow to say."""
        rivals = self._finalists.challengers
        return decide(self.yardstick, rivals, self._rates, self._noise, self._margin)

    @property
    def yardstick(self) -> Configuration:
        """The best single-device finalist."""
        return best_of(self._finalists.one_device, self._rates)

    def gain_over(self, configuration: Configuration, other: Configuration) -> Interval | None:
        """Return how many times faster one finalist is than another, if both ran twice."""
        mine, theirs = shared(configuration, other, self._rates)
        return paired_ratio(mine, theirs, self._noise) if len(mine) > 1 else None

    def throughput(self, configuration: Configuration) -> Interval | None:
        """Return a finalist's examples per second, if it ran at all."""
        rates = list(self._rates.get(configuration, {}).values())
        return mean_rate(rates, self._noise) if rates else None

    @property
    def _noise(self) -> Noise:
        return self._runner.history.noise

    def _note(self, trial: Trial, number: int) -> None:
        if trial.measured and trial.examples_per_second:
            self._rates[trial.configuration][number] = trial.examples_per_second
        elif trial.configuration in self._alive and not self._is_needed(trial.configuration):
            self._alive.remove(trial.configuration)

    def _is_needed(self, configuration: Configuration) -> bool:
        return configuration == self.yardstick

    def _affords(self) -> bool:
        return self._budget.left >= self._runner.history.costs.total(self._alive)

    def _decided(self, rounds: int) -> bool:
        if rounds < EARLY:
            return False
        verdict = self.decision().verdict
        # Past `ROUNDS`, "distribute" is looked at once more, at the end: each look may err.
        look = rounds <= ROUNDS and verdict is Verdict.DISTRIBUTE
        settled = rounds >= ROUNDS and verdict is Verdict.ONE_DEVICE
        return look or settled or not self._rivals()

    def _rivals(self) -> list[Configuration]:
        return [c for c in self._alive if c in self._finalists.challengers]

    def _drop(self, rounds: int) -> None:
        """Let go of finalists that cannot win any more, and of the default once it is known."""
        if rounds >= DEFAULT_ROUNDS and self._finalists.default not in self._finalists.one_device:
            self._alive = [c for c in self._alive if c != self._finalists.default]
        if rounds < EARLY:
            return
        stay = {self.yardstick, *(c for c in self._rivals() if not self._beaten(c))}
        self._alive = [c for c in self._alive if c in stay]

    def _beaten(self, challenger: Configuration) -> bool:
        mine, theirs = shared(challenger, self.yardstick, self._rates)
        if len(mine) < EARLY:
            return False
        return paired_ratio(mine, theirs, self._noise, confidence=OUT).high < 1
