"""The configurations of a search compared with each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from autotune.config import Configuration
from autotune.objective import Score, throughput_of
from autotune.reason import Outcome
from autotune.space.origin import Origin
from autotune.stats.intervals import Interval, Noise, mean_rate, pooled_noise, unpaired_ratio
from autotune.trial import Trial, counting
from autotune.value import Value

ITSELF = Interval(low=1.0, value=1.0, high=1.0)
"""The speedup of the best single device over itself."""


class Entry(Value):
    """One configuration with what its runs say together."""

    configuration: Configuration
    examples_per_second: Interval
    speedup: Interval | None
    """How many times better than the best single device, by the objective; None while that is not
    known."""
    outcome: Outcome
    runs: int
    origins: tuple[Origin, ...] = ()
    """Who would have trained so without a search."""

    @property
    def repeated(self) -> bool:
        """Whether it was measured again: what led once may have led by chance."""
        return self.runs > 1 and self.outcome is Outcome.MEASURED


class Leaderboard:
    """Reads the trials of a search that goes on, oldest first: each configuration by its runs."""

    def __init__(self, trials: Iterable[Trial], score: Score = throughput_of) -> None:
        self.score = score
        self.trials = tuple(trials)
        self._rejected = {t.configuration for t in self.trials if t.outcome is Outcome.REJECTED}
        shown: dict[Configuration, list[Trial]] = defaultdict(list)
        for trial in self.trials:
            if score(trial):
                shown[trial.configuration].append(trial)
        self._runs = {c: counting(runs) for c, runs in shown.items()}

    @cached_property
    def _noise(self) -> Noise:
        """The noise between runs, as their repeats show it."""
        whole = (runs for runs in self._runs.values() if runs[0].measured)
        return pooled_noise([math.log(self.score(t) or 1.0) for t in runs] for runs in whole)

    @cached_property
    def _scores(self) -> dict[Configuration, Interval]:
        return {c: self._mean(self.score, runs) for c, runs in self._runs.items()}

    def _mean(self, score: Score, runs: Sequence[Trial]) -> Interval:
        return mean_rate([each for t in runs if (each := score(t))], self._noise)

    @cached_property
    def baseline(self) -> Configuration | None:
        """The best single-device configuration."""
        mine = (c for c, runs in self._runs.items() if not c.distributed and runs[0].measured)
        sound = (c for c in mine if c not in self._rejected)
        return max(sound, key=lambda c: self._scores[c].value, default=None)

    def rows(self) -> list[Entry]:
        """Return all that has shown a speed, the best first."""
        order = sorted(self._runs, key=lambda c: self._scores[c].value, reverse=True)
        return list(map(self._entry, order))

    def best(self, *, distributed: bool) -> Entry | None:
        """Return the best measured configuration of its kind that has failed no check."""
        mine = (row for row in self.rows() if row.configuration.distributed is distributed)
        return next((row for row in mine if row.outcome is Outcome.MEASURED), None)

    def speedup_of(self, trial: Trial) -> float | None:
        """Return how many times better a trial was than the best single device so far."""
        score = self.score(trial)
        return score / self._scores[self.baseline].value if self.baseline and score else None

    def rate_of(self, trial: Trial) -> Interval | None:
        """Return a trial's throughput, as certain as one run on this machine can be."""
        return self._mean(throughput_of, [trial]) if trial.examples_per_second else None

    def _entry(self, configuration: Configuration) -> Entry:
        runs, best = self._runs[configuration], self.baseline
        speedup = unpaired_ratio(self._scores[configuration], self._scores[best]) if best else None
        return Entry(
            configuration=configuration,
            examples_per_second=self._mean(throughput_of, runs),
            speedup=ITSELF if configuration == best else speedup,
            outcome=Outcome.REJECTED if configuration in self._rejected else runs[-1].outcome,
            runs=len(runs),
        )
