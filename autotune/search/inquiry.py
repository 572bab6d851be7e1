"""Finds out, with what is left of the budget, what limits the baseline and its best rival."""

from __future__ import annotations

from collections.abc import Mapping

from autotune.config import Configuration
from autotune.diagnose.breakdown import breakdown, straggler
from autotune.diagnose.crossover import break_even
from autotune.diagnose.diagnosis import Diagnosis
from autotune.diagnose.experiment import Experiment, Variant, experiments, variant
from autotune.diagnose.timing import Timing
from autotune.events import Observer, Preparing
from autotune.options import PROFILE_SECONDS, PROFILE_SHARE
from autotune.search.budget import Budget
from autotune.search.runner import Runner
from autotune.search.search import Findings

TELLING = (Experiment.HELD, Experiment.ALONE, Experiment.EXCHANGE)
"""Without these nobody knows what a step of several replicas spends its time on."""

Found = dict[Experiment, Timing]


def kept_for_inquiry(seconds: float) -> float:
    """Return the seconds of a budget that the search leaves for the experiments."""
    return min(PROFILE_SHARE * seconds, PROFILE_SECONDS)


def telling_seconds(findings: Findings) -> float:
    """Return how long the runs take that tell the most.

    They are the baseline's and its rival's on a batch held in memory, one replica of the rival
    alone, and the rival's exchange.
    """
    rival = _rival(findings)
    telling = [findings.baseline, *rival, *(each.on_one_device() for each in rival), *rival]
    return findings.history.costs.total(telling)


class Inquiry:
    """Takes a step of the baseline and one of its best rival apart.

    Args:
        runner: Makes the runs.
        budget: Bounds them: an experiment that may not fit is left out.
        observer: Is told what is being done.
    """

    def __init__(self, runner: Runner, budget: Budget, observer: Observer) -> None:
        self._runner = runner
        self._budget = budget
        self._observer = observer
        self._held: dict[Variant, Timing | None] = {}

    def run(self, findings: Findings) -> Diagnosis | None:
        """Return what was found out; None if there was no time for any of it."""
        subjects = [findings.baseline, *_rival(findings)]
        found: dict[Configuration, Found] = {each: {} for each in subjects}
        for configuration, experiment in _in_turns(subjects):
            timing = self._timing(configuration, experiment)
            if timing is not None:
                found[configuration][experiment] = timing
        return self._diagnosis(subjects, found) if any(found.values()) else None

    def _diagnosis(
        self, subjects: list[Configuration], found: Mapping[Configuration, Found]
    ) -> Diagnosis:
        noise = self._runner.history.noise.sd
        parts = [
            breakdown(each, self._step(each), found[each], noise).model_copy(
                update={"straggler": straggler(self._work(each))}
            )
            for each in subjects
        ]
        rival = subjects[1:]
        gradients = self._runner.subject.facts.dense_gradient_bytes
        return Diagnosis(
            one_device=parts[0],
            distributed=parts[1] if rival else None,
            break_even=break_even(rival[0], found[rival[0]], gradient_bytes=gradients, noise=noise)
            if rival
            else None,
        )

    def _step(self, configuration: Configuration) -> Timing:
        """Return what a step takes in training, from all runs that showed it."""
        rates = [
            trial.examples_per_second
            for trial in self._runner.history.trials
            if trial.configuration == configuration and trial.examples_per_second
        ]
        mean = sum(configuration.global_batch / rate for rate in rates) / len(rates)
        return Timing(seconds=mean, runs=len(rates))

    def _work(self, configuration: Configuration) -> tuple[float, ...]:
        """Return what each worker worked for a step in the last run that tells."""
        told = [
            trial.work_seconds
            for trial in self._runner.history.trials
            if trial.configuration == configuration and trial.work_seconds
        ]
        return told[-1] if told else ()

    def _timing(self, configuration: Configuration, experiment: Experiment) -> Timing | None:
        if experiment in (Experiment.EXCHANGE, Experiment.LATENCY):
            return self._exchange(configuration, experiment)
        what = variant(configuration, experiment)
        if what is None:
            return None
        if what not in self._held:
            self._held[what] = self._of_variant(what)
        return self._held[what]

    def _of_variant(self, what: Variant) -> Timing | None:
        if not self._affords(what.configuration):
            return None
        self._say()
        return _timed(self._runner.step_seconds(what.configuration, held=what.held))

    def _exchange(self, configuration: Configuration, experiment: Experiment) -> Timing | None:
        if not self._affords(configuration):
            return None
        self._say()
        size = 0 if experiment is Experiment.LATENCY else None
        return _timed(self._runner.exchange_seconds(configuration, gradient_bytes=size))

    def _affords(self, configuration: Configuration) -> bool:
        return self._budget.left >= self._runner.history.costs.seconds(configuration)

    def _say(self) -> None:
        self._observer(Preparing(what="Profiling the step time"))


def _rival(findings: Findings) -> list[Configuration]:
    """Return the best distributed configuration that showed a speed, in a list if there is one."""
    if findings.decision.challenger is not None:
        return [findings.decision.challenger]
    shown = {c: s.log_score for c, s in findings.history.observed().items() if c.distributed}
    return [max(shown, key=lambda c: shown[c])] if shown else []


def _in_turns(subjects: list[Configuration]) -> list[tuple[Configuration, Experiment]]:
    """Return what is found out of each, the most telling first: the time may end at any of them."""
    every = [(each, experiment) for each in subjects for experiment in experiments(each)]
    return sorted(every, key=lambda each: each[1] not in TELLING)


def _timed(seconds: float | None) -> Timing | None:
    return None if seconds is None else Timing(seconds=seconds)
