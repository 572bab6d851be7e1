"""The trials so far, read as measurements: scores and noise."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from autotune.config import Configuration
from autotune.objective import Score, throughput_of
from autotune.past_measurements import PastMeasurements, relative
from autotune.reason import Outcome
from autotune.search.costs import SMALL_START, Costs, Start
from autotune.search.screening import Screening
from autotune.stats import (
    UNMEASURED,
    Expected,
    Interval,
    Noise,
    mean_rate,
    pooled_noise,
    significantly_below,
)
from autotune.text import plural
from autotune.trial import Stage, Trial

CERTAINLY_WRONG = 0.0017
"""How often one is called certainly faster that is not; asked about three times of a pair."""
SHARED = 2.0
"""Repeats that the noise of all configurations is worth for that of one class of them."""
ROUGH = 0.15
"""Standard error of log(score) of a run that was stopped before it was measured."""
WORSE = math.log(2.0)
"""A configuration that failed counts as half as good as the worst, so that its neighbours are
looked at last."""
ATTEMPTS = 2
"""A configuration whose host was lost is tried again, in case others are left for it."""
SHOWN = (Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTABLE, Outcome.UNFINISHED)
"""Outcomes with a speed; what broke down later had one too, and is no use."""


class Observed(NamedTuple):
    """A score, with how well it is known."""

    log_score: float
    """Its natural logarithm."""
    sd: float
    """Its standard error, the noise between runs included."""


class History:
    """Reads the trials of a study as measurements of configurations.

    Args:
        trials: Oldest first; kept by whoever appends to them.
        expected: The noise between runs, as far as it is known before.
        score: Reads off a trial how good it is.
        start: What the look lets expect of a process on one device.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        expected: Expected = UNMEASURED,
        score: Score = throughput_of,
        start: Start = SMALL_START,
    ) -> None:
        self.expected = expected
        self.score = score
        self.screenings: list[Screening] = []
        """What was seen in passing, apart from the trials: no verdict rests on it."""
        self._trials: list[Trial] = []
        self._scores: dict[Configuration, tuple[float, ...]] = {}
        self._repeats: dict[Configuration, list[float]] = defaultdict(list)
        self._today: dict[Configuration, list[float]] = defaultdict(list)
        self._noise: Noise | None = None
        self._noise_in_finals: dict[bool, Noise] = {}
        self._start = start
        self._costs: Costs | None = None
        self.admitted: Callable[[Configuration], bool] = lambda _: True
        """Tells which configurations may be recommended and compared; their batch may forbid it."""
        for trial in trials:
            self._add(trial, earlier=True)
        self._earlier = len(self._trials)

    def __len__(self) -> int:
        """Return how many exploring trials were run."""
        return sum(t.stage is not Stage.FINAL and t.wall_seconds > 0 for t in self._trials)

    def add(self, trial: Trial) -> None:
        """Take in a trial that has ended."""
        self._add(trial, earlier=False)

    def revise(self, how: Callable[[Trial], Trial]) -> None:
        """Replace all trials, because more is known of what they have shown."""
        trials, self._trials = self._trials, []
        for known in (self._scores, self._repeats, self._today):
            known.clear()
        for index, trial in enumerate(trials):
            self._add(how(trial), earlier=index < self._earlier)

    def _add(self, trial: Trial, *, earlier: bool) -> None:
        self._trials.append(trial)
        self._costs = None
        score = self.score(trial)
        if not (trial.measured and score):
            return
        self._repeats[trial.configuration].append(math.log(score))
        self._noise = None
        self._noise_in_finals.clear()
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
        """Configurations with an outcome of their own, or none in `ATTEMPTS` attempts."""
        lost = Counter(trial.configuration for trial in self._trials if trial.interrupted)
        own = {trial.configuration for trial in self._trials if not trial.interrupted}
        return own | {c for c, times in lost.items() if times >= ATTEMPTS}

    def scores(self, configuration: Configuration) -> tuple[float, ...]:
        """Return the score of each exploring run of a configuration that was measured."""
        return self._scores.get(configuration, ())

    @property
    def noise(self) -> Noise:
        """Between-run noise, from configurations that were measured more than once."""
        if self._noise is None:
            self._noise = pooled_noise(self._repeats.values(), self.expected.exploring)
        return self._noise

    def noise_in_finals(self, *, distributed: bool) -> Noise:
        """Return between-run noise of one class of configurations, on one device or several.

        Gangs have a scatter of their own. While little is known of it, that of all counts.

        Args:
            distributed: Which class.
        """
        if distributed not in self._noise_in_finals:
            everything = pooled_noise(self._repeats.values(), self.expected.finals)
            mine = [logs for c, logs in self._repeats.items() if c.distributed is distributed]
            found = pooled_noise(mine, Noise(sd=everything.sd, degrees=SHARED))
            self._noise_in_finals[distributed] = found
        return self._noise_in_finals[distributed]

    @property
    def repeated(self) -> Collection[Sequence[float]]:
        """log(score) of the runs of each configuration, exploring and final ones alike."""
        return self._repeats.values()

    @property
    def repeats(self) -> int:
        """How many runs repeated an earlier one, so that noise could be learned from them."""
        return sum(len(logs) - 1 for logs in self._repeats.values())

    def estimate(self, configuration: Configuration) -> Interval:
        """Return the score of a measured configuration; by the finals if it ran nowhere else."""
        scores = self.scores(configuration) or [*map(math.exp, self._today.get(configuration, ()))]
        return mean_rate(scores, self.noise)

    def throughput(self, configuration: Configuration) -> Interval:
        """Return the examples per second of a measured configuration."""
        rates = [
            trial.examples_per_second
            for trial in self._exploring()
            if trial.configuration == configuration and trial.measured and trial.examples_per_second
        ]
        return mean_rate(rates, self.noise)

    def observed(
        self, score: Score | None = None, *, finals: bool = False
    ) -> dict[Configuration, Observed]:
        """Return what every configuration has shown that ran long enough.

        Args:
            score: Reads it off a trial; None: as the search is judged.
            finals: Whether runs of the finals count as well as exploring ones.
        """
        score = score or self.score
        runs: dict[Configuration, list[tuple[float, bool]]] = defaultdict(list)
        for trial in self._of_today() if finals else self._exploring():
            if trial.outcome in SHOWN and (shown := score(trial)):
                runs[trial.configuration].append((math.log(shown), trial.measured))
        return {c: _together(each, self._sd(c, finals=finals)) for c, each in runs.items()}

    def _sd(self, configuration: Configuration, *, finals: bool) -> float:
        if not finals:
            return self.noise.sd
        return self.noise_in_finals(distributed=configuration.distributed).sd

    def with_failures(
        self, observed: Mapping[Configuration, Observed]
    ) -> dict[Configuration, Observed]:
        """Return what was observed, and for what failed something worse than all of it."""
        if not observed:
            return {}
        worst = Observed(min(each.log_score for each in observed.values()) - WORSE, ROUGH)
        ended = (t for t in self._exploring() if not t.interrupted)
        ran = (t.configuration for t in ended if t.outcome is not Outcome.SKIPPED)
        return {**dict.fromkeys(ran, worst), **observed}

    def measured(self, *, distributed: bool) -> list[Configuration]:
        """Return the configurations that were measured while exploring, the best first."""
        mine = [c for c in self._scores if c.distributed is distributed]
        return sorted(mine, key=lambda c: -fmean(math.log(r) for r in self._scores[c]))

    def ranked(self, *, distributed: bool) -> list[Configuration]:
        """Return those of them that are admitted, the best first."""
        return self._admitted(self.measured(distributed=distributed))

    def measured_today(self, *, distributed: bool) -> list[Configuration]:
        """Return what is admitted and was measured while exploring or in today's finals."""
        mine = [c for c, logs in self._today.items() if logs and c.distributed is distributed]
        return self._admitted(mine)

    def _admitted(self, mine: list[Configuration]) -> list[Configuration]:
        """Return those that are admitted; all single devices where none of them is."""
        found = [c for c in mine if self.admitted(c)]
        return found or [c for c in mine if not c.distributed]

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
        return significantly_below(fmean(theirs) - fmean(mine), error, self.noise, wrong=wrong)

    @property
    def costs(self) -> Costs:
        """What further trials are expected to take."""
        if self._costs is None:
            self._costs = Costs(self._trials, self._start)
        return self._costs

    def _of_today(self) -> Iterator[Trial]:
        """Yield all but the finals of earlier sessions: today's machine may be faster."""
        for index, trial in enumerate(self._trials):
            if index >= self._earlier or trial.stage is not Stage.FINAL:
                yield trial

    def _exploring(self) -> Iterator[Trial]:
        return (trial for trial in self._trials if trial.stage is not Stage.FINAL)


def _together(runs: list[tuple[float, bool]], noise: float) -> Observed:
    """Join the runs of a configuration; the measured ones alone, where there are any."""
    measured = [log for log, whole in runs if whole]
    logs = measured or [log for log, _ in runs]
    error = noise / math.sqrt(len(logs))
    return Observed(fmean(logs), error if measured else math.hypot(error, ROUGH))


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """What is expected before the first trial. It may be wrong: machines change."""

    known: Mapping[Configuration, float]
    """log(rate) relative to the best single device, of what was tried before with this workload."""
    noise: Noise | None
    """Between-run noise of this machine, whatever was trained on it."""

    def __str__(self) -> str:
        """Say what the search begins with; nothing where it begins with nothing."""
        parts = []
        if self.known:
            count = len(self.known)
            parts.append(f"{plural(count, 'configuration')} of this workload tried")
        if self.noise is not None:
            parts.append(f"run-to-run variation of {self.noise.sd:.0%}")
        return f"Earlier searches on this machine: {', '.join(parts)}." if parts else ""


NOTHING_KNOWN = WarmStart(known={}, noise=None)
"""The first search on a machine."""


def warm_start(past: PastMeasurements, machine: str, workload: str) -> WarmStart:
    """Return what past searches say.

    Args:
        past: What they measured.
        machine: Fingerprint of the machine.
        workload: Fingerprint of what is trained.
    """
    return WarmStart(
        known=relative(past.measurements(machine, workload)), noise=past.noise(machine)
    )
