"""What is believed of the candidates, after all runs so far."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

import numpy as np

from autotune.config import Configuration
from autotune.search.batches import BatchPair, admitted
from autotune.search.failures import Failures
from autotune.search.history import ROUGH, History
from autotune.search.kernel import Kernel, Matrix
from autotune.search.posterior import Joint, Posterior, Run, condensed
from autotune.search.question import Entrants, Gain, gain_of
from autotune.trial import Trial, counting

CANDIDATES = 30
"""Of each kind, one device and several: those that may be the best, by mean and two deviations."""
MEASURED = 8
"""Of each kind, the best that were measured are always among them."""
TWO_MODES, WIDE = 0.2, 4.0
"""Worker groups whose runs differ by more, in log(score) and in standard deviations of their noise,
show both of their modes."""


@dataclass(frozen=True, kw_only=True)
class Belief:
    """What is believed of the candidates.

    Attributes:
        joint: Their posterior; positions below are positions in it.
        configurations: What they are.
        runs: How often each was measured.
        works: How likely a run of each is to be measured.
        gain: What distributing gains.
        batches: What another batch than the user's own depends on; None where nothing does.
    """

    joint: Joint
    configurations: tuple[Configuration, ...]
    runs: tuple[int, ...]
    works: tuple[float, ...]
    gain: Gain
    batches: BatchPair | None = None

    @property
    def ran(self) -> list[int]:
        return [k for k, n in enumerate(self.runs) if n]

    @property
    def singles(self) -> list[int]:
        return [k for k, c in enumerate(self.configurations) if not c.distributed]

    @property
    def several(self) -> list[int]:
        return [k for k, c in enumerate(self.configurations) if c.distributed]

    @property
    def one(self) -> Configuration:
        """The best measured one on one device."""
        return self.configurations[self.gain.one]

    @property
    def many(self) -> Configuration | None:
        """The best measured distributed one."""
        return None if self.gain.many is None else self.configurations[self.gain.many]

    def position(self, configuration: Configuration) -> int | None:
        found = [k for k, c in enumerate(self.configurations) if c == configuration]
        return found[0] if found else None


class Learner:
    """Learns the posterior of a pool from the trials of a search.

    Args:
        history: Holds them.
        pool: All configurations that may be asked about.
    """

    def __init__(self, history: History, pool: Sequence[Configuration]) -> None:
        self._history = history
        self.pool = list(pool)
        self.row = {c: i for i, c in enumerate(self.pool)}
        self.kernel = Kernel(self.pool)
        self._posterior = Posterior(self.kernel, [c.distributed for c in self.pool])
        self._began = 0.0
        self._learned: list[Run] = []
        self.counting: list[Trial] = []
        """The trials that count; `runs` holds what each has shown."""
        self.runs: list[Run] = []

    def learn(self) -> Posterior:
        """Return the posterior of all trials so far; one at least has shown a speed."""
        self.counting = counting(filter(self._shows, self._history.trials))
        usual, self._began = median(t.others for t in self.counting), _began(self.counting[0])
        self.runs = [self._run(t, usual) for t in self.counting]
        every = condensed(self.runs)
        # Asked again of the same runs, walkers that went on would say something else.
        if every != self._learned:
            self._posterior.learn(every)
            self._learned = every
        return self._posterior

    def _shows(self, trial: Trial) -> bool:
        known = trial.configuration in self.row and trial.shown
        return known and bool(self._history.score(trial))

    def _run(self, trial: Trial, usual: float) -> Run:
        within = (trial.error or 0.0) if trial.measured else ROUGH
        # What others take all the time slows every run alike; more or less of it is an error.
        error = math.hypot(within, trial.others - usual)
        minutes = self._minutes(_began(trial))
        log = math.log(self._history.score(trial) or 1.0)
        return Run(self.row[trial.configuration], log, minutes, error)

    def _minutes(self, time: float) -> float:
        """Return minutes since the first run: rounded, so that it matters not when that was."""
        return round((time - self._began) / 60, 3)


def _began(trial: Trial) -> float:
    return (trial.ended_at or 0.0) - trial.wall_seconds


class Believer:
    """Tells what is believed of the candidates of a search.

    Args:
        history: Holds the trials.
        learner: Learns from them.
        matched: For distributed ones, one device at their global batch.
        margin: Minimum gain of practical relevance, in log(score).
        excluded: Whether one cannot run, or is proved to be no better.
        is_own: Whether one has the user's own global batch.
        has_hosts: Whether the hosts are left that one needs.
        always: What is among the candidates in any case once it was measured.
    """

    def __init__(  # noqa: PLR0913 - each comes from another part
        self,
        history: History,
        learner: Learner,
        *,
        batch_matched: Mapping[Configuration, Configuration],
        margin: float,
        excluded: Callable[[Configuration], bool],
        is_own: Callable[[Configuration], bool] = lambda _: True,
        has_hosts: Callable[[Configuration], bool] = lambda _: True,
        always: Sequence[Configuration] = (),
    ) -> None:
        self._history = history
        self._learner = learner
        self._pool, self._row = learner.pool, learner.row
        self._failures = Failures(learner.row, learner.kernel)
        self._batch_matched = batch_matched
        self._margin = margin
        self._excluded = excluded
        self._is_own = is_own
        self._has_hosts = has_hosts
        self._always = always

    def belief(
        self,
        also: Sequence[Configuration] = (),
        certified: Callable[[Configuration], bool] = lambda _: True,
    ) -> Belief:
        """Return what is believed now; something on one device was measured.

        Args:
            also: Candidates in any case.
            certified: Whether a distributed one may be recommended.
        """
        trials = self._history.trials
        posterior, runs = self._learner.learn(), self._learner.runs
        mean, sd = posterior.marginals()
        counts = Counter(t.configuration for t in trials if t.measured)
        failed = self._failures.counts(trials)
        works = self._failures.works(trials, {r.row for r in runs}, failed)
        chosen = self._candidates(mean, mean + 2 * sd + np.log(works), counts)
        rows = [*dict.fromkeys([*chosen, *(self._row[c] for c in also)])]
        about = tuple(self._pool[row] for row in rows)
        joint = posterior.joint(rows)
        times = tuple(counts[c] for c in about)
        kinds = [[k for k, c in enumerate(about) if c.distributed is d] for d in (False, True)]
        own = [self._is_own(c) for c in about]
        allowed, batches = admitted(joint, kinds, own, times)
        singles, several = ([k for k in kind if k in allowed] for kind in kinds)
        shown = sum(self._pool[run.row].distributed for run in runs)
        may = [k for k in several if self._has_hosts(about[k]) and certified(about[k])]
        entrants = Entrants(
            singles,
            several,
            times,
            shown,
            modes=self._modes(trials, mean, float(joint.noise.max())),
            may=may,
            wider=[k for k in kinds[0] if k not in allowed],
            other=[k for k in several if not own[k]],
            works=works[rows],
        )
        return Belief(
            joint=joint,
            configurations=about,
            runs=times,
            works=tuple(works[rows].tolist()),
            gain=gain_of(joint, entrants, self._margin),
            batches=batches,
        )

    def _candidates(
        self,
        mean: Matrix,
        hope: Matrix,
        counts: Mapping[Configuration, int],
    ) -> list[int]:
        """Return the rows of what may be the best, of what was measured, and its matches."""
        tried = self._history.tried
        chosen = {self._row[c]: None for c in self._always if c in counts}
        for several in (False, True):
            mine = [
                i
                for i, c in enumerate(self._pool)
                if c.distributed is several and (c in counts or c not in tried)
            ]
            best = self._best(mean, [i for i in mine if self._pool[i] in counts], MEASURED)
            chosen.update(dict.fromkeys([*best, *self._best(hope, mine, CANDIDATES)]))
            if several and best:
                match = self._batch_matched.get(self._pool[best[0]])
                if match is not None and (match in counts or match not in tried):
                    chosen[self._row[match]] = None
        return [*chosen]

    def _best(self, figures: Matrix, rows: Sequence[int], count: int) -> list[int]:
        """Return the best of some rows that are not excluded."""
        order = sorted(rows, key=lambda i: -figures[i])
        return [*islice((i for i in order if not self._excluded(self._pool[i])), count)]

    def _modes(self, trials: Iterable[Trial], mean: Matrix, noise: float) -> tuple[int, int]:
        """Return how many runs of worker groups agree, and how many lie in another mode.

        Args:
            trials: All.
            mean: Of each configuration of the pool.
            noise: Variance of a run.
        """
        several = (t for t in trials if t.measured and t.configuration.distributed)
        off = [
            math.log(score) - float(mean[self._row[t.configuration]])
            for t in several
            if t.configuration in self._row and (score := self._history.score(t))
        ]
        most = max(TWO_MODES, WIDE * math.sqrt(noise)) / 2
        differ = sum(abs(each - median(off)) > most for each in off)
        return len(off) - differ, differ
