"""What the trials so far say, together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from autotune.config import Configuration
from autotune.measure import (
    EXPECTED,
    Interval,
    Noise,
    mean_rate,
    pooled_noise,
    surely_below,
)
from autotune.objective import Score, throughput_of
from autotune.search.costs import Costs
from autotune.trial import Stage, Trial

CERTAINLY_WRONG = 0.0017
"""How often one is called certainly faster that is not; asked about three times of a pair."""


class History:
    """Reads the trials of a study as measurements of configurations.

    Args:
        trials: Oldest first; kept by whoever appends to them.
        expected: The noise between runs, as far as it is known before.
        score: Reads off a trial how good it is.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        expected: Noise = EXPECTED,
        score: Score = throughput_of,
    ) -> None:
        self.expected = expected
        self.score = score
        self._trials: list[Trial] = []
        self._scores: dict[Configuration, tuple[float, ...]] = {}
        self._repeats: dict[Configuration, list[float]] = defaultdict(list)
        self._today: dict[Configuration, list[float]] = defaultdict(list)
        self._noise: Noise | None = None
        self._costs: Costs | None = None
        for trial in trials:
            self._add(trial, earlier=True)

    def __len__(self) -> int:
        """Return how many exploring trials were run."""
        return sum(t.stage is not Stage.FINAL and t.wall_seconds > 0 for t in self._trials)

    def add(self, trial: Trial) -> None:
        """Take in a trial that has ended."""
        self._add(trial, earlier=False)

    def _add(self, trial: Trial, *, earlier: bool) -> None:
        self._trials.append(trial)
        self._costs = None
        score = self.score(trial)
        if not (trial.measured and score):
            return
        self._repeats[trial.configuration].append(math.log(score))
        self._noise = None
        if not (earlier and trial.stage is Stage.FINAL):
            # Finals of earlier sessions tell of the noise; today's machine may be faster.
            self._today[trial.configuration].append(math.log(score))
        if trial.stage is not Stage.FINAL:
            known = self._scores.get(trial.configuration, ())
            self._scores[trial.configuration] = (*known, score)

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials, oldest first."""
        return tuple(self._trials)

    @property
    def tried(self) -> set[Configuration]:
        """Configurations with any outcome."""
        return {trial.configuration for trial in self._trials}

    def scores(self, configuration: Configuration) -> tuple[float, ...]:
        """Return the score of each exploring run of a configuration that was measured."""
        return self._scores.get(configuration, ())

    @property
    def noise(self) -> Noise:
        """Between-run noise, from configurations that were measured more than once."""
        if self._noise is None:
            self._noise = pooled_noise(self._repeats.values(), self.expected)
        return self._noise

    @property
    def repeats(self) -> int:
        """How many runs repeated an earlier one, so that noise could be learned from them."""
        return sum(len(logs) - 1 for logs in self._repeats.values())

    def estimate(self, configuration: Configuration) -> Interval:
        """Return the score of a measured configuration."""
        return mean_rate(self.scores(configuration), self.noise)

    def throughput(self, configuration: Configuration) -> Interval:
        """Return the examples per second of a measured configuration."""
        rates = [
            trial.examples_per_second
            for trial in self._trials
            if trial.configuration == configuration
            and trial.measured
            and trial.stage is not Stage.FINAL
            and trial.examples_per_second
        ]
        return mean_rate(rates, self.noise)

    def ranked(self, *, distributed: bool) -> list[Configuration]:
        """Return the measured configurations, the best first."""
        mine = [c for c in self._scores if c.distributed is distributed]
        return sorted(mine, key=lambda c: -fmean(math.log(r) for r in self._scores[c]))

    @property
    def baseline(self) -> Configuration | None:
        """The best single-device configuration so far."""
        return next(iter(self.ranked(distributed=False)), None)

    def reference(self) -> tuple[float, ...]:
        """Return the score of each run of the baseline."""
        return self.scores(self.baseline) if self.baseline else ()

    def not_surely_slower(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Return those measured configurations that the baseline does not certainly beat."""
        best = self.baseline
        return [c for c in configurations if best is None or not self.certainly_beats(best, c)]

    def certainly_beats(
        self, winner: Configuration, loser: Configuration, *, wrong: float = CERTAINLY_WRONG
    ) -> bool:
        """Return whether one configuration is certainly better than another, by all their runs.

        Args:
            winner: The one.
            loser: The other.
            wrong: How often that may be said of two that are equally fast.
        """
        mine, theirs = self._today[winner], self._today[loser]
        error = self.noise.sd * math.sqrt(1 / len(mine) + 1 / len(theirs))
        return surely_below(fmean(theirs) - fmean(mine), error, self.noise, wrong=wrong)

    @property
    def costs(self) -> Costs:
        """What further trials are expected to take."""
        if self._costs is None:
            self._costs = Costs(self._trials)
        return self._costs
