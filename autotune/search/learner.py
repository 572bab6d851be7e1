"""Learns the posterior of a pool of configurations from the trials of a search."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from autotune.config import Configuration
from autotune.search.kernel import Kernel, Matrix
from autotune.search.posterior import Outlook, Posterior, Run, condensed
from autotune.search.trials import ROUGH, History
from autotune.trial import Trial, counting

GUESSED = 0.4
"""Standard error of log(rate) of the own settings by what the inspection saw of their steps."""


class Learner:
    """Learns log(rate), and tells log(score), which the objective moves by an offset.

    The offset of each configuration is log(score) minus log(rate). Of the own settings the
    inspection may have seen a rough rate. Where it has not, any rate stands for it until something
    ran, because what a run of others saves follows from how they differ.
    """

    def __init__(
        self,
        history: History,
        pool: Sequence[Configuration],
        own: tuple[Configuration, float | None],
        offset: Callable[[Configuration], float] = lambda _: 0.0,
        *,
        shares_cores: bool = False,
    ) -> None:
        self.pool = [*dict.fromkeys(pool)]
        self.row = {c: i for i, c in enumerate(self.pool)}
        self.kernel = Kernel(self.pool, shares_cores=shares_cores)
        self.runs: list[Run] = []
        """What each trial that counts has shown, oldest first."""
        self._history = history
        self._offsets = np.array([offset(each) for each in self.pool])
        self._posterior = Posterior(self.kernel, [c.distributed for c in self.pool])
        self._knows = own[1] is not None
        self._guess = Run(self.row[own[0]], math.log(own[1] or 1.0), 0.0, GUESSED)
        self._began: float | None = None
        self._learned: list[Run] = []

    def learn(self) -> None:
        """Take in all trials so far."""
        history = self._history
        known = (t for t in history.trials if t.configuration in self.row and t.shown)
        trials = counting(t for t in known if history.score(t))
        if trials:
            usual, self._began = median(t.others for t in trials), _began(trials[0])
            self.runs = [self._run(t, usual) for t in trials]
        guessed = [self._guess] if self._knows or not self.runs else []
        every = [*guessed, *condensed(self.runs)]
        # Asked again of the same runs, walkers that went on would say something else.
        if every != self._learned:
            self._posterior.learn(every)
            self._learned = every

    def outlook(self, rows: Sequence[int], now: float, hypotheses: int) -> Outlook:
        """Return what is believed of log(score) of some rows of the pool.

        Args:
            rows: Positions in the pool.
            now: Seconds since 1970, at which a further run would be made.
            hypotheses: How many walkers tell, at most.
        """
        found = self._posterior.outlook(rows, self._minutes(now), hypotheses)
        return replace(found, mean=found.mean + self._offsets[list(rows)])

    def marginals(self) -> tuple[Matrix, Matrix]:
        """Return mean and standard deviation of log(score) of the whole pool."""
        mean, sd = self._posterior.marginals()
        return mean + self._offsets, sd

    def log_rate(self, configuration: Configuration, now: float) -> float | None:
        """Return the expected log(rate) of a configuration; None while nothing tells it."""
        if not (self._knows or self.runs):
            return None
        found = self._posterior.outlook([self.row[configuration]], self._minutes(now), 16)
        return float(found.mean.mean())

    def _minutes(self, now: float) -> float:
        """Return the minutes since the first run, rounded: it matters not when that was."""
        return 0.0 if self._began is None else round((now - self._began) / 60, 3)

    def _run(self, trial: Trial, usual: float) -> Run:
        within = (trial.error or 0.0) if trial.measured else ROUGH
        # What others take all the time slows every run alike; more or less of it is an error.
        error = math.hypot(within, trial.others - usual)
        log = math.log(trial.examples_per_second or 1.0)
        return Run(self.row[trial.configuration], log, self._minutes(_began(trial)), error)


def _began(trial: Trial) -> float:
    return (trial.ended_at or 0.0) - trial.wall_seconds
