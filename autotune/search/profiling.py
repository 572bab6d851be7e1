"""Profiles the recommended configuration and its challengers in the time that was reserved.

It times parts of a step of the baseline and of its best challenger, each once: the noise of runs
is known from the search, and whoever has an answer waits for no more. What does not fit into the
budget is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autotune.checks.breakdown import Straggler, breakdown, slow_worker, straggler
from autotune.checks.crossover import break_even
from autotune.checks.diagnosis import Diagnosis, Predicted
from autotune.checks.experiment import Experiment, Seconds, Variant, further, telling, variant
from autotune.checks.remedies import Rated, advise
from autotune.checks.scaling import MORE_HOSTS, of_runs, predict
from autotune.config import Configuration
from autotune.events import Observer, Preparing
from autotune.options import PROFILE_SECONDS, PROFILE_SHARE, SearchOptions
from autotune.search.findings import Findings
from autotune.search.history import History
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.space import Candidates
from autotune.stats import Noise
from autotune.strategies import strategy
from autotune.trial import Trial


def reserved_seconds(options: SearchOptions, history: History) -> float:
    """Return the seconds of the budget that the search leaves for the profile.

    Where two runs take longer than all of them, they are the search's.
    """
    if options.budget is None or not options.diagnose:
        return 0.0
    most = min(PROFILE_SHARE * options.budget, PROFILE_SECONDS)
    baseline = history.baseline
    return most if baseline is None or 2 * history.costs.seconds(baseline) <= most else 0.0


class Profiler:
    """Finds out where the time of a step goes.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        observer: Is told what is being done.
        candidates: The configurations that can run.
    """

    def __init__(
        self, runner: Runner, budget: Budget, observer: Observer, candidates: Candidates
    ) -> None:
        self._runner = runner
        self._candidates = candidates
        self._budget = budget
        self._observer = observer
        self._costs = runner.history.costs
        self._broken: set[Variant] = set()
        self._own: dict[Configuration, tuple[float, ...]] = {}

    def run(self, findings: Findings) -> Findings:
        """Return the findings with the diagnosis, None where there was no time."""
        compared = [findings.baseline, *_challenger(findings)]
        return replace(findings, diagnosis=self._diagnosed(compared))

    def _diagnosed(self, compared: list[Configuration]) -> Diagnosis | None:
        made = self._made(compared)
        return self._diagnosis(made) if any(made.values()) else None

    def _made(self, compared: Sequence[Configuration]) -> Mapping[Configuration, Seconds]:
        """Make every experiment once, as far as the time goes, the most telling first."""
        made: dict[Configuration, dict[Experiment, float]] = {each: {} for each in compared}
        timed: dict[Variant, float] = {}
        for configuration, experiment in self._in_order(compared):
            what = variant(configuration, experiment, self._runner.subject.facts)
            # Without the step itself there is nothing to compare with.
            known = made[configuration] or experiment is Experiment.STEP
            if what and known and (seconds := timed.get(what) or self._seconds(what)):
                timed[what] = made[configuration][experiment] = seconds
        return made

    def _in_order(
        self, compared: Sequence[Configuration]
    ) -> list[tuple[Configuration, Experiment]]:
        facts = self._runner.subject.facts
        first = [(each, one) for each in compared for one in telling(each)]
        return first + [(each, one) for each in compared for one in further(each, facts)]

    def _diagnosis(self, found: Mapping[Configuration, Seconds]) -> Diagnosis:
        noise = self._runner.history.noise
        parts = [
            breakdown(
                each,
                seconds,
                noise,
                otherwise=self._step(each),
                callbacks=self._callbacks(each),
            ).model_copy(update={"straggler": self._straggler(each, seconds)})
            for each, seconds in found.items()
        ]
        challenger = [*found.items()][1:]
        gradients = self._runner.subject.facts.dense_gradient_bytes
        return Diagnosis(
            one_device=parts[0],
            distributed=parts[1] if challenger else None,
            break_even=break_even(*challenger[0], gradient_bytes=gradients, noise=noise)
            if challenger
            else None,
            predicted=tuple(self._predicted(found, noise)),
            advice=advise(self._runner.subject.facts, self._candidates, self._rates()),
        )

    def _predicted(self, found: Mapping[Configuration, Seconds], noise: Noise) -> list[Predicted]:
        """Return the best worker group with a host for each, on more hosts than there are."""
        subject = self._runner.subject
        worker_groups = {c: rated for c, rated in self._rates().items() if self._is_spread(c)}
        if not worker_groups:
            return []
        best = max(worker_groups, key=lambda c: worker_groups[c].examples_per_second)
        hosts = range(2, len(subject.machine.hosts) + 1)
        runs = {n: self._steps(best.but(workers=n)) for n in hosts}
        alone = found.get(best, {}).get(Experiment.ALONE)
        runs[1] = [alone] if alone else self._steps(best.on_one_device())
        steps = {n: of_runs(seconds, noise) for n, seconds in runs.items() if seconds}
        more = [n for n in MORE_HOSTS if n > max(steps)]
        return predict(
            steps,
            more,
            gradient_bytes=subject.facts.dense_gradient_bytes,
            bandwidth=self._runner.bandwidth(),
        )

    def _is_spread(self, configuration: Configuration) -> bool:
        """Return whether every replica has a host to itself, and waits for the others."""
        hosts = len(self._runner.subject.machine.hosts)
        alone = configuration.replicas_per_worker == 1 < configuration.workers <= hosts
        return alone and not strategy(configuration.strategy).asynchronous

    def _rates(self) -> dict[Configuration, Rated]:
        """Return what each configuration reached in its first run that was measured."""
        measured = [t for t in self._runner.history.trials if t.measured]
        return {
            t.configuration: Rated(t.number, t.examples_per_second)
            for t in reversed(measured)
            if t.examples_per_second
        }

    def _step(self, configuration: Configuration) -> float:
        """Return the seconds of a step in training, from all trials that showed it."""
        steps = self._steps(configuration)
        return sum(steps) / len(steps)

    def _steps(self, configuration: Configuration) -> list[float]:
        rates = [rate for t in self._trials(configuration) if (rate := t.examples_per_second)]
        return [configuration.global_batch / rate for rate in rates]

    def _straggler(self, configuration: Configuration, seconds: Seconds) -> Straggler | None:
        """Return the worker for which the others wait, and on which host it is."""
        own, together = self._own.get(configuration), seconds.get(Experiment.HELD)
        if own and together:
            found = slow_worker(own, together, self._runner.history.noise)
        else:
            found = straggler(self._work(configuration))
        machine = self._runner.subject.machine
        if found is None or len(machine.hosts) == 1:
            return found
        role = strategy(configuration.strategy).roles(configuration, machine)[found.worker]
        return found.model_copy(update={"host": machine.hosts[role.host].name})

    def _work(self, configuration: Configuration) -> tuple[float, ...]:
        """Return what each worker worked for a step in the last run that tells."""
        known = [t.work_seconds for t in self._trials(configuration) if t.work_seconds]
        return known[-1] if known else ()

    def _callbacks(self, configuration: Configuration) -> tuple[tuple[str, float], ...]:
        """Return what each callback took of a step in the last run that tells."""
        known = [t.callback_seconds for t in self._trials(configuration) if t.callback_seconds]
        return known[-1] if known else ()

    def _trials(self, configuration: Configuration) -> list[Trial]:
        return [t for t in self._runner.history.trials if t.configuration == configuration]

    def _seconds(self, what: Variant) -> float | None:
        """Return the seconds of a step; None without the time for it, or if it fails."""
        affordable = self._costs.seconds(what.configuration) <= self._budget.left
        if what in self._broken or not affordable or self._ran_out(what):
            return None
        self._observer(Preparing(what="Profiling the step time"))
        seconds = self._measured(what)
        if seconds is None:
            self._broken.add(what)
        return seconds

    def _ran_out(self, what: Variant) -> bool:
        """Whether a trial that needs no more memory had too little."""
        return what.only_bytes is None and self._runner.history.ruled_out.too_large(
            what.configuration
        )

    def _measured(self, what: Variant) -> float | None:
        configuration = what.configuration
        if what.only_bytes is not None:
            return self._runner.allreduce_seconds(configuration, gradient_bytes=what.only_bytes)
        found = self._runner.step_time(configuration, held=what.held, exchanges=what.exchanges)
        if found and not what.exchanges:
            self._own[configuration] = found.workers
        return found and found.seconds


def _challenger(findings: Findings) -> list[Configuration]:
    """Return the best distributed configuration that showed a speed, in a list if there is one."""
    if findings.decision.challenger is not None:
        return [findings.decision.challenger]
    shown = {c: s.log_score for c, s in findings.history.observed().items() if c.distributed}
    return [max(shown, key=lambda c: shown[c])] if shown else []
