"""Where a search stands: what the trials so far say about one device and the rest."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from types import MappingProxyType

from autotune.config import Configuration
from autotune.measure import Interval, mean_rate, paired_ratio
from autotune.measure.interval import around
from autotune.recommendation import Recommendation
from autotune.run.engine import Outcome
from autotune.search.history import History
from autotune.search.verdict import shared
from autotune.trial import Stage, Trial

ITSELF = Interval(low=1.0, value=1.0, high=1.0)
"""The best single device, compared with itself."""
NOTHING: Mapping[Configuration, Interval] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One configuration and what its runs say together."""

    configuration: Configuration
    rate: Interval
    """Examples per second."""
    share: Interval | None
    """Throughput as a multiple of the best single device's; None while that is not known."""
    outcome: Outcome
    runs: int
    final: bool
    """Whether the figures come from the finals."""


def standing_of(result: Recommendation) -> Standing:
    """Return where a search stood at its end, with the throughput that it tells."""
    told = result.examples_per_second
    return Standing(result.trials, result.one_device, {result.config: told} if told else NOTHING)


class Standing:
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
        self._noise = History(self.trials).noise
        self._explored: dict[Configuration, list[Trial]] = defaultdict(list)
        self._finals: dict[Configuration, dict[int, float]] = defaultdict(dict)
        self._wrong = {t.configuration for t in self.trials if t.outcome is Outcome.REJECTED}
        for trial in self.trials:
            self._take(trial)

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

    def rows(self, *, final: bool) -> list[Row]:
        """Return the finalists, or all that was explored, the fastest first."""
        found = list(self._finals if final else self._explored)
        found.sort(key=lambda c: -self._mean(c, final=final))
        return [self._row(c, final=final) for c in found]

    def best(self, *, distributed: bool) -> Row | None:
        """Return the fastest configuration of its kind, from the finals once they have begun."""
        final = self.in_finals
        mine = [
            c for c in (self._finals if final else self._explored) if c.distributed is distributed
        ]
        best = max(mine, key=lambda c: self._mean(c, final=final), default=None)
        return self._row(best, final=final) if best else None

    def share_of(self, trial: Trial) -> float | None:
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

    def _take(self, trial: Trial) -> None:
        if not trial.examples_per_second:
            return
        if trial.stage is not Stage.FINAL:
            self._explored[trial.configuration].append(trial)
        elif trial.measured and trial.round is not None:
            self._finals[trial.configuration][trial.round] = trial.examples_per_second

    def _row(self, configuration: Configuration, *, final: bool) -> Row:
        runs = self._finals[configuration] if final else self._explored[configuration]
        measured = final or self._is_measured(configuration)
        rate = self._rate(configuration, final=final)
        return Row(
            configuration=configuration,
            rate=self._known.get(configuration, rate) if final else rate,
            share=self._share(configuration, final=final),
            outcome=self._outcome(configuration, measured=measured),
            runs=len(runs),
            final=final,
        )

    def _outcome(self, configuration: Configuration, *, measured: bool) -> Outcome:
        if configuration in self._wrong:
            return Outcome.REJECTED
        return Outcome.MEASURED if measured else self._explored[configuration][-1].outcome

    def _share(self, configuration: Configuration, *, final: bool) -> Interval | None:
        baseline = self._compared_with(final=final)
        if baseline is None:
            return None
        if configuration == baseline:
            return ITSELF
        mine, theirs = shared(configuration, baseline, self._finals)
        if final and len(mine) > 1:
            return paired_ratio(mine, theirs, self._noise)
        return _unpaired(self._rate(configuration, final=final), self._rate(baseline, final=final))

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


def _unpaired(a: Interval, b: Interval) -> Interval:
    """Return the interval of a ratio: independent errors of logarithms add as squares."""
    half = math.hypot(math.log(a.high / a.value), math.log(b.high / b.value))
    return around(math.log(a.value / b.value), half)
