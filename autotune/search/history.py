"""The trials so far, read as measurements: scores and noise."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from statistics import fmean, median

from autotune.config import Configuration
from autotune.objective import Score, throughput_of
from autotune.search.costs import SMALL_START, Costs, Start
from autotune.search.failures import ATTEMPTS, RuledOut
from autotune.trial import Trial, counting

ROUGH = 0.15
"""Standard error of log(score) of a run that was stopped before it was measured."""


class History:
    """Reads the trials of a study, oldest first, as measurements of configurations.

    The start is what the inspection lets expect of a process on one device.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        score: Score = throughput_of,
        start: Start = SMALL_START,
    ) -> None:
        self.score = score
        self.trials: list[Trial] = []
        """All of them, oldest first."""
        self._scores: dict[Configuration, list[float]] = defaultdict(list)
        self._start = start
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        score = self.score(trial)
        if trial.measured and score:
            self._scores[trial.configuration].append(score)
        for derived in ("ruled_out", "costs"):
            self.__dict__.pop(derived, None)

    @property
    def ran(self) -> int:
        """How many of them took any time."""
        return sum(trial.wall_seconds > 0 for trial in self.trials)

    @property
    def tried(self) -> set[Configuration]:
        """Configurations with an outcome of their own, or none in `ATTEMPTS` attempts."""
        lost = Counter(trial.configuration for trial in self.trials if trial.interrupted)
        own = {trial.configuration for trial in self.trials if not trial.interrupted}
        return own | {c for c, times in lost.items() if times >= ATTEMPTS}

    def scores(self, configuration: Configuration) -> Sequence[float]:
        """Return the score of each run of a configuration that was measured."""
        return tuple(self._scores.get(configuration, ()))

    @property
    def repeated(self) -> Collection[Sequence[float]]:
        """log(score) of the runs of each configuration."""
        return [[*map(math.log, scores)] for scores in self._scores.values()]

    def throughput(self, configuration: Configuration) -> float:
        """Return the median of the examples per second of what has shown a speed."""
        mine = [t for t in self.trials if t.configuration == configuration and t.shown]
        return median(rate for t in counting(mine) if (rate := t.examples_per_second))

    @property
    def baseline(self) -> Configuration | None:
        """The best single-device configuration so far, by the scores of its own runs."""
        mine = [c for c in self._scores if not c.distributed]
        return max(mine, key=lambda c: fmean(map(math.log, self._scores[c])), default=None)

    @cached_property
    def ruled_out(self) -> RuledOut:
        return RuledOut(self.trials)

    @cached_property
    def costs(self) -> Costs:
        return Costs(self.trials, self._start)
