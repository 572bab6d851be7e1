"""What is believed of the candidates, after all runs so far."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from statistics import median

import numpy as np

from autotune.config import Configuration
from autotune.search.bounds import Bounds
from autotune.search.failures import chances
from autotune.search.history import ROUGH, History
from autotune.search.kernel import Kernel, Matrix
from autotune.search.posterior import Joint, Posterior, Run, condensed
from autotune.search.question import BatchPair, Entrants, Gain, admitted, gain_of
from autotune.search.runner import Runner
from autotune.trial import Trial, counting


@dataclass(frozen=True, kw_only=True)
class Belief:
    joint: Joint
    """Their posterior; positions are positions in it."""
    configurations: tuple[Configuration, ...]
    runs: tuple[int, ...]
    """How often each was measured."""
    works: tuple[float, ...]
    """How likely a run of each is to be measured."""
    gain: Gain
    margin: float
    """Minimum gain of practical relevance, in log(score)."""
    batches: BatchPair | None = None
    """What another batch than the user's own depends on; None where nothing does."""

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

    @cached_property
    def in_question(self) -> tuple[int, int]:
        """Who stands for one device and who for several: who leads, and who may beat it.

        What did not run may be what leaves an answer open, while those that did are told apart.
        """
        one, many = self.gain.one, self.gain.many
        if many is not None and self.gain.leads:
            return max(self.singles, key=lambda k: self.works[k] * self.joint.beats(k, many)), many
        hope = {k: self.works[k] * self.joint.beats(k, one, self.margin) for k in self.several}
        return one, max(hope, key=lambda k: hope[k])


class Learner:
    """Learns the posterior of a pool of configurations from the trials of a search."""

    def __init__(self, history: History, pool: Sequence[Configuration]) -> None:
        self.history = history
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
        known = (t for t in self.history.trials if t.configuration in self.row and t.shown)
        self.counting = counting(t for t in known if self.history.score(t))
        usual, self._began = median(t.others for t in self.counting), _began(self.counting[0])
        self.runs = [self._run(t, usual) for t in self.counting]
        every = condensed(self.runs)
        # Asked again of the same runs, walkers that went on would say something else.
        if every != self._learned:
            self._posterior.learn(every)
            self._learned = every
        return self._posterior

    def _run(self, trial: Trial, usual: float) -> Run:
        within = (trial.error or 0.0) if trial.measured else ROUGH
        # What others take all the time slows every run alike; more or less of it is an error.
        error = math.hypot(within, trial.others - usual)
        # Since the first run: rounded, so that it matters not when that was.
        minutes = round((_began(trial) - self._began) / 60, 3)
        log = math.log(self.history.score(trial) or 1.0)
        return Run(self.row[trial.configuration], log, minutes, error)


def _began(trial: Trial) -> float:
    return (trial.ended_at or 0.0) - trial.wall_seconds


@dataclass(frozen=True, kw_only=True)
class Believer:
    """Tells what is believed of the candidates of a search."""

    learner: Learner
    runner: Runner
    bounds: Bounds
    batch_matched: Mapping[Configuration, Configuration]
    """For distributed ones, one device at their global batch."""
    margin: float
    """Minimum gain of practical relevance, in log(score)."""
    default: Configuration
    """Is among the candidates in any case once it was measured."""

    def belief(
        self,
        also: Sequence[Configuration] = (),
        certified: Callable[[Configuration], bool] = lambda _: True,
    ) -> Belief:
        """Return what is believed now; something on one device was measured.

        Some more are candidates in any case, and only what is certified may be recommended.
        """
        trials, impossible = self.learner.history.trials, self.runner.why_impossible
        posterior, runs, row = self.learner.learn(), self.learner.runs, self.learner.row
        mean, sd = posterior.marginals()
        counts = Counter(t.configuration for t in trials if t.measured)
        works = chances(trials, row, self.learner.kernel, {run.row for run in runs})
        # Those that may be the best: by mean and two deviations.
        chosen = self._candidates(mean, mean + 2 * sd + np.log(works), counts)
        rows = [*dict.fromkeys([*chosen, *(row[c] for c in also)])]
        about = tuple(self.learner.pool[each] for each in rows)
        joint = posterior.joint(rows)
        times = tuple(counts[c] for c in about)
        kinds = [[k for k, c in enumerate(about) if c.distributed is d] for d in (False, True)]
        own = [self.runner.subject.has_own_batch(c) for c in about]
        allowed, batches = admitted(joint, kinds, own, times)
        singles, several = ([k for k in kind if k in allowed] for kind in kinds)
        entrants = Entrants(
            singles=singles,
            several=several,
            runs=times,
            shown=sum(self.learner.pool[run.row].distributed for run in runs),
            modes=self._modes(trials, mean, float(joint.noise.max())),
            may=[k for k in several if certified(about[k]) and not impossible(about[k])],
            wider=[k for k in kinds[0] if k not in allowed],
            other=[k for k in several if not own[k]],
            works=works[rows],
        )
        return Belief(
            joint=joint,
            configurations=about,
            runs=times,
            works=tuple(works[rows].tolist()),
            gain=gain_of(joint, entrants, self.margin),
            margin=self.margin,
            batches=batches,
        )

    def _candidates(
        self, mean: Matrix, hope: Matrix, counts: Mapping[Configuration, int]
    ) -> list[int]:
        """Return the rows of what may be the best, of what was measured, and its matches."""
        tried = self.learner.history.tried
        chosen = {self.learner.row[self.default]: None} if self.default in counts else {}
        for several in (False, True):
            mine = [
                i
                for i, c in enumerate(self.learner.pool)
                if c.distributed is several and (c in counts or c not in tried)
            ]
            best = self._best(mean, [i for i in mine if self.learner.pool[i] in counts], 8)
            chosen.update(dict.fromkeys([*best, *self._best(hope, mine, 30)]))
            if several and best:
                match = self.batch_matched.get(self.learner.pool[best[0]])
                if match is not None and (match in counts or match not in tried):
                    chosen[self.learner.row[match]] = None
        return [*chosen]

    def _best(self, figures: Matrix, rows: Sequence[int], count: int) -> list[int]:
        """Return the best of some rows that are not excluded."""
        pool, order = self.learner.pool, sorted(rows, key=lambda i: -figures[i])
        return [*islice((i for i in order if not self.bounds.excludes(pool[i])), count)]

    def _modes(self, trials: Iterable[Trial], mean: Matrix, noise: float) -> tuple[int, int]:
        """Return how many runs of worker groups agree, and how many lie in another mode.

        Those do that lie far from each other in log(score) and in standard deviations of the noise,
        which is given as a variance.
        """
        several = (t for t in trials if t.measured and t.configuration.distributed)
        off = [
            math.log(score) - float(mean[self.learner.row[t.configuration]])
            for t in several
            if t.configuration in self.learner.row and (score := self.learner.history.score(t))
        ]
        most = max(0.2, 4.0 * math.sqrt(noise)) / 2
        differ = sum(abs(each - median(off)) > most for each in off)
        return len(off) - differ, differ
