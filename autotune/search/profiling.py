"""Profiles the recommended configuration and its rivals with the time that the search reserved.

First it times parts of a step of the baseline and of its best rival, then it reads the values that
tf.data's AUTOTUNE chose. What does not fit into the budget is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from autotune.autotuned_values import AutotunedValues
from autotune.config import Configuration
from autotune.diagnose.breakdown import breakdown, straggler
from autotune.diagnose.crossover import break_even
from autotune.diagnose.diagnosis import Diagnosis
from autotune.diagnose.experiment import Experiment, Timing, Variant, experiments, variant
from autotune.events import Observer, Preparing
from autotune.options import PROFILE_SECONDS, PROFILE_SHARE, SearchOptions
from autotune.search.runner import Runner
from autotune.search.search import Findings
from autotune.search.stopping import MEASURE_SECONDS, READ_OUT_SECONDS, Budget
from autotune.strategies import strategy
from autotune.trial import Trial

TELLING = (Experiment.HELD, Experiment.ALONE, Experiment.EXCHANGE)
"""Without these nobody knows what a step of several replicas spends its time on."""
SERVED = "With {title} the input is read by processes that cannot be inspected."

Found = dict[Experiment, Timing]


def reserved_seconds(options: SearchOptions) -> float:
    """Return the seconds of the budget that the search leaves for the profile."""
    if options.budget is None or not options.diagnose:
        return 0.0
    return min(PROFILE_SHARE * options.budget, PROFILE_SECONDS)


class Profiler:
    """Finds out where the time of a step goes, and what AUTOTUNE chose.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        observer: Is told what is being done.
    """

    def __init__(self, runner: Runner, budget: Budget, observer: Observer) -> None:
        self._runner = runner
        self._budget = budget
        self._observer = observer
        self._costs = runner.history.costs
        self._kept = 0.0
        self._timings: dict[Variant, Timing | None] = {}

    def run(self, findings: Findings) -> Findings:
        """Return the findings with the diagnosis and the values, None where there was no time."""
        compared = [findings.baseline, *_rival(findings)]
        self._kept = self._kept_for_reading(findings.recommended, compared)
        diagnosis = self._diagnosed(compared)
        self._kept = 0.0
        return replace(
            findings, diagnosis=diagnosis, automatic=self._automatic(findings.recommended)
        )

    def _kept_for_reading(self, chosen: Configuration, compared: Sequence[Configuration]) -> float:
        """Return the seconds that are kept for AUTOTUNE's values.

        None are kept without time for the runs that tell more: those of the baseline and its rival
        on a batch held in memory, of one replica of the rival, and of the rival's exchange.
        """
        if not self._has_values(chosen):
            return 0.0
        seconds, rivals = self._reading_seconds(chosen), compared[1:]
        telling = [*compared, *(each.on_one_device() for each in rivals), *rivals]
        return seconds if self._budget.left >= seconds + self._costs.total(telling) else 0.0

    def _diagnosed(self, compared: list[Configuration]) -> Diagnosis | None:
        found: dict[Configuration, Found] = {each: {} for each in compared}
        for configuration, experiment in _in_turns(compared):
            timing = self._timing(configuration, experiment)
            if timing is not None:
                found[configuration][experiment] = timing
        return self._diagnosis(compared, found) if any(found.values()) else None

    def _diagnosis(
        self, compared: list[Configuration], found: Mapping[Configuration, Found]
    ) -> Diagnosis:
        noise = self._runner.history.noise.sd
        parts = [
            breakdown(each, self._step(each), found[each], noise).model_copy(
                update={"straggler": straggler(self._work(each))}
            )
            for each in compared
        ]
        rival = compared[1:]
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
        rates = [rate for t in self._trials(configuration) if (rate := t.examples_per_second)]
        mean = sum(configuration.global_batch / rate for rate in rates) / len(rates)
        return Timing(seconds=mean, runs=len(rates))

    def _work(self, configuration: Configuration) -> tuple[float, ...]:
        """Return what each worker worked for a step in the last run that tells."""
        told = [t.work_seconds for t in self._trials(configuration) if t.work_seconds]
        return told[-1] if told else ()

    def _trials(self, configuration: Configuration) -> list[Trial]:
        return [t for t in self._runner.history.trials if t.configuration == configuration]

    def _timing(self, configuration: Configuration, experiment: Experiment) -> Timing | None:
        if experiment in (Experiment.EXCHANGE, Experiment.LATENCY):
            size = 0 if experiment is Experiment.LATENCY else None
            return self._timed(
                configuration,
                lambda: self._runner.allreduce_seconds(configuration, gradient_bytes=size),
            )
        what = variant(configuration, experiment)
        if what is None:
            return None
        if what not in self._timings:
            self._timings[what] = self._timed(
                what.configuration,
                lambda: self._runner.step_seconds(what.configuration, held=what.held),
            )
        return self._timings[what]

    def _timed(
        self, configuration: Configuration, step: Callable[[], float | None]
    ) -> Timing | None:
        """Return the seconds of a step, if there is time to measure them."""
        if self._budget.left - self._kept < self._costs.seconds(configuration):
            return None
        self._observer(Preparing(what="Profiling the step time"))
        seconds = step()
        return None if seconds is None else Timing(seconds=seconds)

    def _automatic(self, chosen: Configuration) -> AutotunedValues | None:
        """Return AUTOTUNE's values; None without the time for it, or if there are none."""
        if not self._has_values(chosen):
            return None
        program = strategy(chosen.strategy)
        if program.asynchronous:
            return AutotunedValues(why_not=SERVED.format(title=program.title))
        if self._budget.left < self._reading_seconds(chosen):
            return None
        self._observer(Preparing(what="Reading the values chosen by tf.data.AUTOTUNE"))
        return self._runner.read_out(chosen)

    def _has_values(self, configuration: Configuration) -> bool:
        return configuration.prefetch == "auto" or self._runner.subject.facts.automatic

    def _reading_seconds(self, configuration: Configuration) -> float:
        """Return how long such a run takes: a trial, with a longer time of steps."""
        return self._costs.seconds(configuration) + READ_OUT_SECONDS - MEASURE_SECONDS


def _rival(findings: Findings) -> list[Configuration]:
    """Return the best distributed configuration that showed a speed, in a list if there is one."""
    if findings.decision.challenger is not None:
        return [findings.decision.challenger]
    shown = {c: s.log_score for c, s in findings.history.observed().items() if c.distributed}
    return [max(shown, key=lambda c: shown[c])] if shown else []


def _in_turns(compared: list[Configuration]) -> list[tuple[Configuration, Experiment]]:
    """Return what is found out of each, the most telling first: the time may end at any of them."""
    every = [(each, experiment) for each in compared for experiment in experiments(each)]
    return sorted(every, key=lambda each: each[1] not in TELLING)
