"""The configurations of a search compared with each other, from its trials."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from statistics import fmean
from types import MappingProxyType

from autotune.config import Configuration
from autotune.objective import Score, throughput_of
from autotune.reason import Outcome
from autotune.space.origin import Origin
from autotune.stats import (
    Interval,
    mean_rate,
    paired_ratio,
    pooled_noise,
    shared_rounds,
    unpaired_ratio,
)
from autotune.trial import Stage, Trial
from autotune.value import Value

ITSELF = Interval(low=1.0, value=1.0, high=1.0)
"""The speedup of the best single device over itself."""
NOTHING: Mapping[Configuration, Interval] = MappingProxyType({})


class Entry(Value):
    """One configuration with what its runs say together."""

    configuration: Configuration
    examples_per_second: Interval
    speedup: Interval | None
    """How many times better than the best single device, by the objective; None while that is not
    known."""
    outcome: Outcome
    runs: int
    final: bool
    """Whether the figures come from the finals."""
    origins: tuple[Origin, ...] = ()
    """Who would have trained so without a search."""


class Leaderboard:
    """Reads the trials of a search, each finalist by its finals and the others as explored.

    Like is compared with like: finals with finals round by round, exploration with exploration.

    Args:
        trials: Oldest first.
        chosen: The best single device, once the search has chosen it.
        known: Throughputs of finalists that the search has estimated, which used more than their
            rounds of the finals.
        gains: Their speedups, likewise.
        score: Reads off a trial how good it is; more is better.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        chosen: Configuration | None = None,
        known: Mapping[Configuration, Interval] = NOTHING,
        gains: Mapping[Configuration, Interval] = NOTHING,
        score: Score = throughput_of,
    ) -> None:
        self._score = score
        self._chosen = chosen
        self._known = known
        self._gains = gains
        self.trials = tuple(trials)
        self._explored: dict[Configuration, list[Trial]] = defaultdict(list)
        self._finals: dict[Configuration, dict[int, Trial]] = defaultdict(dict)
        self._wrong = {t.configuration for t in self.trials if t.outcome is Outcome.REJECTED}
        repeats: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.trials:
            found = score(trial)
            if not found:
                continue
            if trial.measured:
                repeats[trial.configuration].append(math.log(found))
            if trial.stage is not Stage.FINAL:
                self._explored[trial.configuration].append(trial)
            elif trial.measured and trial.round is not None:
                self._finals[trial.configuration][trial.round] = trial
        self._noise = pooled_noise(repeats.values())

    @property
    def in_finals(self) -> bool:
        """Whether the finals can be compared: the best single device has run in them.

        In their second round it has, even if exploration took another one for the best.
        """
        second = any(len(runs) > 1 for runs in self._finals.values())
        return self.baseline in self._finals or (second and self.final_baseline is not None)

    @cached_property
    def baseline(self) -> Configuration | None:
        """The best single-device configuration, as explored."""
        measured = [c for c in self._explored if not c.distributed and self._is_measured(c)]
        return max(measured, key=lambda c: self._mean(c, final=False), default=None)

    @cached_property
    def final_baseline(self) -> Configuration | None:
        """The best single-device configuration of the finals."""
        if self._chosen in self._finals:
            return self._chosen
        alone = [c for c in self._finals if not c.distributed]
        # Those that dropped out early say less, however fast their few runs were.
        order = {c: (len(self._finals[c]), self._mean(c, final=True)) for c in alone}
        return max(alone, key=lambda c: order[c], default=None)

    def rows(self) -> list[Entry]:
        return [*self.entries(final=True), *self.entries(final=False)]

    def entries(self, *, final: bool) -> list[Entry]:
        """Return the finalists, or all that was explored, the best first."""
        found = list(self._finals if final else self._explored)
        found.sort(key=lambda c: -self._mean(c, final=final))
        return [self._entry(c, final=final) for c in found]

    @property
    def finalists(self) -> list[Entry]:
        return self.entries(final=True)

    @property
    def others(self) -> list[Entry]:
        """What was explored and is not in the finals, the best first."""
        return [c for c in self.entries(final=False) if c.configuration not in self._finals]

    def best(self, *, distributed: bool) -> Entry | None:
        """Return the best configuration of its kind, from the finals once they have begun."""
        final = self.in_finals
        mine = [
            c for c in (self._finals if final else self._explored) if c.distributed is distributed
        ]
        best = max(mine, key=lambda c: self._mean(c, final=final), default=None)
        return self._entry(best, final=final) if best else None

    def speedup_of(self, trial: Trial) -> float | None:
        """Return how many times better a trial was than the best single device so far."""
        final = trial.stage is Stage.FINAL
        baseline = self._compared_with(final=final)
        score = self._score(trial)
        if baseline is None or not score or (final and not self.in_finals):
            return None
        return score / self._overall(baseline, final=final).value

    def rate_of(self, trial: Trial) -> Interval | None:
        """Return a trial's throughput, as certain as one run on this machine can be."""
        rate = trial.examples_per_second
        return mean_rate([rate], self._noise) if rate else None

    def _compared_with(self, *, final: bool) -> Configuration | None:
        return self.final_baseline if final else self.baseline

    def _entry(self, configuration: Configuration, *, final: bool) -> Entry:
        runs = self._finals[configuration] if final else self._explored[configuration]
        measured = final or self._is_measured(configuration)
        rates = [t.examples_per_second for t in self._runs(configuration, final=final)]
        rate = mean_rate([each for each in rates if each], self._noise)
        return Entry(
            configuration=configuration,
            examples_per_second=self._known.get(configuration, rate) if final else rate,
            speedup=self._speedup(configuration, final=final),
            outcome=self._outcome(configuration, measured=measured),
            runs=len(runs),
            final=final,
        )

    def _outcome(self, configuration: Configuration, *, measured: bool) -> Outcome:
        if configuration in self._wrong:
            return Outcome.REJECTED
        return Outcome.MEASURED if measured else self._explored[configuration][-1].outcome

    def _speedup(self, configuration: Configuration, *, final: bool) -> Interval | None:
        baseline = self._compared_with(final=final)
        if baseline is None:
            return None
        if configuration == baseline:
            return ITSELF
        if final and configuration in self._gains:
            return self._gains[configuration]
        rounds = {
            each: {n: self._score(t) or 0.0 for n, t in self._finals.get(each, {}).items()}
            for each in (configuration, baseline)
        }
        mine, theirs = shared_rounds(configuration, baseline, rounds)
        if final and len(mine) > 1:
            return paired_ratio(mine, theirs, self._noise)
        scores = (self._overall(each, final=final) for each in (configuration, baseline))
        return unpaired_ratio(*scores)

    def _overall(self, configuration: Configuration, *, final: bool) -> Interval:
        return mean_rate(self._scores(configuration, final=final), self._noise)

    def _mean(self, configuration: Configuration, *, final: bool) -> float:
        return fmean(map(math.log, self._scores(configuration, final=final)))

    def _scores(self, configuration: Configuration, *, final: bool) -> list[float]:
        runs = self._runs(configuration, final=final)
        return [score for trial in runs if (score := self._score(trial))]

    def _runs(self, configuration: Configuration, *, final: bool) -> list[Trial]:
        """Return the runs that count: the measured ones alone, where there are any."""
        if final:
            return list(self._finals[configuration].values())
        trials = self._explored[configuration]
        return [t for t in trials if t.measured] or trials

    def _is_measured(self, configuration: Configuration) -> bool:
        return any(t.measured for t in self._explored[configuration])
