"""The configurations of a search compared with each other, from its trials."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from statistics import fmean
from types import MappingProxyType

from autotune.config import Configuration
from autotune.measure import (
    Interval,
    mean_rate,
    paired_ratio,
    pooled_noise,
    shared_rounds,
    unpaired_ratio,
)
from autotune.run.engine import Outcome
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
    """As a multiple of the best single device's throughput; None while that is not known."""
    outcome: Outcome
    runs: int
    final: bool
    """Whether the figures come from the finals."""


class Leaderboard:
    """Reads the trials of a search, each finalist by its finals and the others as explored.

    Like is compared with like: finals with finals round by round, exploration with exploration.

    Args:
        trials: Oldest first.
        chosen: The best single device, once the search has chosen it.
        known: Throughputs of finalists that the search has settled, which used more than their
            rounds of the finals.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        chosen: Configuration | None = None,
        known: Mapping[Configuration, Interval] = NOTHING,
    ) -> None:
        self._chosen = chosen
        self._known = known
        self.trials = tuple(trials)
        self._explored: dict[Configuration, list[Trial]] = defaultdict(list)
        self._finals: dict[Configuration, dict[int, float]] = defaultdict(dict)
        self._wrong = {t.configuration for t in self.trials if t.outcome is Outcome.REJECTED}
        repeats: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.trials:
            rate = trial.examples_per_second
            if not rate:
                continue
            if trial.measured:
                repeats[trial.configuration].append(math.log(rate))
            if trial.stage is not Stage.FINAL:
                self._explored[trial.configuration].append(trial)
            elif trial.measured and trial.round is not None:
                self._finals[trial.configuration][trial.round] = rate
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
        # Those that dropped out early say less, however lucky their few runs were.
        order = {c: (len(self._finals[c]), self._mean(c, final=True)) for c in alone}
        return max(alone, key=lambda c: order[c], default=None)

    def entries(self, *, final: bool) -> list[Entry]:
        """Return the finalists, or all that was explored, the fastest first."""
        found = list(self._finals if final else self._explored)
        found.sort(key=lambda c: -self._mean(c, final=final))
        return [self._entry(c, final=final) for c in found]

    @property
    def finalists(self) -> list[Entry]:
        """The configurations of the finals, the fastest first."""
        return self.entries(final=True)

    @property
    def others(self) -> list[Entry]:
        """What was explored and is not in the finals, the fastest first."""
        return [c for c in self.entries(final=False) if c.configuration not in self._finals]

    def best(self, *, distributed: bool) -> Entry | None:
        """Return the fastest configuration of its kind, from the finals once they have begun."""
        final = self.in_finals
        mine = [
            c for c in (self._finals if final else self._explored) if c.distributed is distributed
        ]
        best = max(mine, key=lambda c: self._mean(c, final=final), default=None)
        return self._entry(best, final=final) if best else None

    def speedup_of(self, trial: Trial) -> float | None:
        """Return a trial's throughput as a multiple of the best single device's so far."""
        final = trial.stage is Stage.FINAL
        baseline = self._compared_with(final=final)
        if baseline is None or not trial.examples_per_second or (final and not self.in_finals):
            return None
        return trial.examples_per_second / self._rate(baseline, final=final).value

    def rate_of(self, trial: Trial) -> Interval | None:
        """Return a trial's throughput, as certain as one run on this machine can be."""
        rate = trial.examples_per_second
        return mean_rate([rate], self._noise) if rate else None

    def _compared_with(self, *, final: bool) -> Configuration | None:
        return self.final_baseline if final else self.baseline

    def _entry(self, configuration: Configuration, *, final: bool) -> Entry:
        runs = self._finals[configuration] if final else self._explored[configuration]
        measured = final or self._is_measured(configuration)
        rate = self._rate(configuration, final=final)
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
        mine, theirs = shared_rounds(configuration, baseline, self._finals)
        if final and len(mine) > 1:
            return paired_ratio(mine, theirs, self._noise)
        rates = (self._rate(each, final=final) for each in (configuration, baseline))
        return unpaired_ratio(*rates)

    def _rate(self, configuration: Configuration, *, final: bool) -> Interval:
        return mean_rate(self._rates(configuration, final=final), self._noise)

    def _mean(self, configuration: Configuration, *, final: bool) -> float:
        return fmean(math.log(rate) for rate in self._rates(configuration, final=final))

    def _rates(self, configuration: Configuration, *, final: bool) -> list[float]:
        if final:
            return list(self._finals[configuration].values())
        trials = self._explored[configuration]
        whole = [t for t in trials if t.measured] or trials
        return [t.examples_per_second for t in whole if t.examples_per_second]

    def _is_measured(self, configuration: Configuration) -> bool:
        return any(t.measured for t in self._explored[configuration])
