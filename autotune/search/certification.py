"""Certifies what is about to win, once for each family of configurations."""

from __future__ import annotations

from collections import Counter

from autotune.checks.certificate import Certificate
from autotune.checks.certify import family
from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.search.costs import REFERENCE_RUNS
from autotune.search.failures import ATTEMPTS
from autotune.search.runner import Runner


class Certification:
    """Certifies what is about to win; what the history holds as wrong is not tried again."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._certificates: dict[Configuration, Certificate | None] = {}
        self._attempts = Counter[Configuration]()
        self._refused: set[Configuration] = set()
        self._read = 0

    def certify(self, configuration: Configuration) -> bool:
        """Return whether a configuration may win, and look into it if nobody has."""
        if self._is_open(configuration):
            self._attempts[family(configuration)] += 1
            self._certificates[family(configuration)] = self._runner.certify(configuration)
        return self.passed(configuration)

    def _is_open(self, configuration: Configuration) -> bool:
        """Whether nothing was found of it; what a lost host has ended is tried once more."""
        tried = self.of(configuration) or self._attempts[family(configuration)] >= ATTEMPTS
        return not tried and not self.refused(configuration)

    def passed(self, configuration: Configuration) -> bool:
        """Whether it was looked into and may win."""
        certificate = self.of(configuration)
        return certificate is not None and not certificate.failures

    def refused(self, configuration: Configuration) -> bool:
        """Whether it may not win, by what was found now or in an earlier session."""
        return family(configuration) in self._wrong

    def of(self, configuration: Configuration) -> Certificate | None:
        """Return what was found."""
        return self._certificates.get(family(configuration))

    def seconds(self, configuration: Configuration) -> float:
        """Return the time that certifying a configuration is expected to take."""
        costs, baseline = self._runner.history.costs, self._runner.history.baseline
        if baseline is None or not self._is_open(configuration):
            return 0.0
        return costs.seconds(configuration) + REFERENCE_RUNS * costs.seconds(baseline)

    @property
    def _wrong(self) -> set[Configuration]:
        trials = self._runner.history.trials
        for trial in trials[self._read :]:
            if trial.outcome is Outcome.REJECTED:
                self._refused.add(family(trial.configuration))
        self._read = len(trials)
        return self._refused
