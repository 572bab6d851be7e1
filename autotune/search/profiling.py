"""What follows a search where that takes little of the training: it runs as it is delivered.

What is delivered beside the program that was timed runs once. The profile times parts of a step of
the baseline and of its best challenger, each once: the noise of runs is known from the search, and
whoever has an answer waits for no more. What does not fit into the budget is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autotune.answer import Answer
from autotune.checks.breakdown import (
    Breakdown,
    Experiment,
    Seconds,
    Variant,
    breakdown,
    further,
    telling,
    variant,
)
from autotune.checks.remedies import Trials, advise
from autotune.checks.scaling import (
    MORE_HOSTS,
    Diagnosis,
    Predicted,
    Straggler,
    break_even,
    predict,
    slow_worker,
)
from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.program.patch import NO_PATCH, Patch, patch_for, program_of
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.runner import Runner
from autotune.search.savings import BESIDE
from autotune.search.setup import Subject
from autotune.search.stopping import Budget
from autotune.space import Candidates
from autotune.stats.intervals import EXPECTED, Interval, Noise, mean_rate, times, unpaired_ratio
from autotune.stats.windows import read, steady_from
from autotune.strategies import strategy
from autotune.trial import BROKEN, Trial
from autotune.workload import own_settings


def patch_of(chosen: Configuration, subject: Subject) -> Patch:
    """Return what to change in the user's script, if there is one."""
    script = subject.workload.script
    if script is None or script.notebook:
        return NO_PATCH
    try:
        text = Path(script.path).read_bytes().decode()
    except (OSError, ValueError):
        return Patch(why_not="The script cannot be read any more.")
    if "\r" in text:
        return Patch(why_not="The lines of the script end as on Windows.")
    return patch_for(script.path, text, chosen, subject.facts, subject.machine)


@dataclass(kw_only=True)
class Extras:
    """What is found out beside an answer, if there is time."""

    patch: Patch = NO_PATCH
    """What to change in the user's script."""
    between: float | None = None
    """Seconds of the recommended program between two epochs."""
    diagnosis: Diagnosis | None = None
    """Where the time of a step goes."""

    def measure(self, answer: Answer, runner: Runner, budget: Budget, found: Candidates) -> None:
        """Find out what there is time for: all where the user asks for a profile."""
        if not answer.entries:
            return
        training = answer.recommended_seconds
        if not budget.options.profile and training:
            budget = budget.within(BESIDE * training.value)
        self.patch = _tried(self.patch, answer, runner, budget)
        chosen = answer.recommended
        affords = runner.history.costs.seconds(chosen) <= budget.left
        if affords and not strategy(chosen.strategy).asynchronous:
            self.between = runner.between_epochs(chosen)
        self.diagnosis = Profiler(runner, budget, found, _noise_of(answer)).run(answer)


def _noise_of(answer: Answer) -> Noise:
    """Return the noise between runs, as well known as the repeats make it."""
    return Noise(sd=answer.noise, degrees=EXPECTED.degrees + answer.repeats)


def _tried(patch: Patch, answer: Answer, runner: Runner, budget: Budget) -> Patch:
    """Run the changed script and the script as it is, once each; return what comes of the patch.

    One that does not train, or that gains nothing, is not delivered.
    """
    chosen, subject = answer.recommended, runner.subject
    script, fit, seconds = subject.workload.script, subject.facts.fit, runner.history.costs.seconds
    if not patch.text or script is None or fit is None:
        return patch
    if seconds(chosen) > budget.left:
        return patch._replace(ran="It was not run: no time was left.")
    result = runner.other(chosen, program_of(script.path, script.arguments, patch.changed, fit))
    if result.outcome in BROKEN and budget.left > 0:
        return Patch(why_not=f"The changed script does not train: {reason_text(result.reason)}")
    own, gain = own_settings(subject.facts), None
    if chosen.cache != "off":
        # That of a trial is filled before.
        why = "its cache fills in the first epoch"
    elif seconds(own) > budget.left:
        why = "no time was left"
    else:
        why = "the rates were not steady"
        before = runner.other(own, program_of(script.path, script.arguments, patch.before, fit))
        noise = _noise_of(answer)
        scores = [_score(runner, noise, *each) for each in ((chosen, result), (own, before))]
        gain = unpaired_ratio(scores[0], scores[1]) if scores[0] and scores[1] else None
    if gain is None:
        return patch._replace(ran=f"It ran once; its gain over your script was not timed: {why}.")
    said = f"{times(gain)} as {subject.objective.adjective} as your script"
    if gain.value <= 1:
        return Patch(why_not=f"The changed script was only {said}.")
    return patch._replace(ran=f"It was {said}; both ran once.", gain=gain)


def _score(
    runner: Runner, noise: Noise, configuration: Configuration, result: RunResult
) -> Interval | None:
    """Return how good a run was, as one of many would be; None where it was not timed."""
    took = seconds_of_step(result)
    rate = configuration.global_batch / took if took else None
    score = runner.subject.scorer.of_rate(configuration, rate)
    return mean_rate([score], noise) if score else None


def seconds_of_step(result: RunResult) -> float | None:
    """Return what a step took once it was steady; None if it was not measured."""
    start = steady_from(result.windows)
    if result.outcome is not Outcome.MEASURED or start is None:
        return None
    return 1 / read(result.windows[start:]).steps_per_second


@dataclass
class Profiler:
    """Finds out where the time of a step goes."""

    runner: Runner
    budget: Budget
    candidates: Candidates
    noise: Noise
    """Between runs."""
    _own: dict[Configuration, tuple[float, ...]] = field(default_factory=dict, init=False)

    def run(self, answer: Answer) -> Diagnosis | None:
        """Return the diagnosis of the leaders; None where there was no time."""
        if not self._steps(answer.one_device):
            return None
        made = self._made([*filter(None, (answer.one_device, answer.several))])
        return self._diagnosis(made) if any(made.values()) else None

    def _made(self, compared: Sequence[Configuration]) -> Mapping[Configuration, Seconds]:
        """Make every experiment once, as far as the time goes, the most telling first."""
        made: dict[Configuration, dict[Experiment, float]] = {each: {} for each in compared}
        timed: dict[Variant, float | None] = {}
        first = [(each, one) for each in compared for one in telling(each)]
        later = [(each, one) for each in compared for one in further(each)]
        for configuration, experiment in first + later:
            what = variant(configuration, experiment)
            # Without the step itself there is nothing to compare with.
            known = made[configuration] or experiment is Experiment.STEP
            if what is None or not known:
                continue
            if what not in timed:
                timed[what] = self._seconds(what)
            if seconds := timed[what]:
                made[configuration][experiment] = seconds
        return made

    def _diagnosis(self, found: Mapping[Configuration, Seconds]) -> Diagnosis:
        noise, facts = self.noise, self.runner.subject.facts
        one, *challenger = (self._taken_apart(each, s) for each, s in found.items())
        # The bytes that a network has to move are known of dense gradients alone.
        dense = facts.dense_gradient_bytes
        size = dense if dense >= facts.gradient_bytes else 0
        even = [
            break_even(each, seconds, gradient_bytes=size, noise=noise)
            for each, seconds in [*found.items()][1:]
        ]
        return Diagnosis(
            one_device=one,
            distributed=challenger[0] if challenger else None,
            break_even=even[0] if even else None,
            predicted=tuple(self._predicted(found)),
            straggler=next(filter(None, (self._straggler(*each) for each in found.items())), None),
        )

    def _taken_apart(self, configuration: Configuration, seconds: Seconds) -> Breakdown:
        steps, trials = self._steps(configuration), self._trials(configuration)
        # By the last run that tells them.
        callbacks = [t.callback_seconds for t in trials if t.callback_seconds]
        found = breakdown(
            configuration,
            seconds,
            self.noise,
            otherwise=sum(steps) / len(steps),
            callbacks=callbacks[-1] if callbacks else (),
        )
        facts = self.runner.subject.facts
        remedied, advice = advise(configuration, facts, self.candidates, self._rates())
        return found.model_copy(update={"remedied": remedied, "advice": advice})

    def _predicted(self, found: Mapping[Configuration, Seconds]) -> list[Predicted]:
        """Return the best worker group with a host for each, on more hosts than there are."""
        subject, noise = self.runner.subject, self.noise
        worker_groups = {c: rated for c, rated in self._rates().items() if self._is_spread(c)}
        if not worker_groups:
            return []
        best = max(worker_groups, key=lambda c: worker_groups[c][1])
        hosts = range(2, len(subject.machine.hosts) + 1)
        runs = {n: self._steps(best.but(workers=n)) for n in hosts}
        alone = found.get(best, {}).get(Experiment.ALONE)
        runs[1] = [alone] if alone else self._steps(best.on_one_device())
        steps = {n: mean_rate(seconds, noise) for n, seconds in runs.items() if seconds}
        more = [n for n in MORE_HOSTS if n > max(steps)]
        return predict(
            steps,
            more,
            gradient_bytes=subject.facts.dense_gradient_bytes,
            bandwidth=self.runner.engine.bandwidth(),
        )

    def _is_spread(self, configuration: Configuration) -> bool:
        """Return whether every replica has a host to itself, and waits for the others."""
        hosts = len(self.runner.subject.machine.hosts)
        alone = configuration.replicas_per_worker == 1 < configuration.workers <= hosts
        return alone and not strategy(configuration.strategy).asynchronous

    def _rates(self) -> Trials:
        """Return the first trial of each configuration that was measured."""
        return {
            t.configuration: (t.number, t.examples_per_second)
            for t in reversed(self.runner.history.trials)
            if t.measured and t.examples_per_second
        }

    def _steps(self, configuration: Configuration) -> list[float]:
        """Return the seconds of a step in training, by each trial that showed it."""
        rates = [rate for t in self._trials(configuration) if (rate := t.examples_per_second)]
        return [configuration.global_batch / rate for rate in rates]

    def _straggler(self, configuration: Configuration, seconds: Seconds) -> Straggler | None:
        """Return the worker for which the others wait, and on which host it is."""
        own, together = self._own.get(configuration), seconds.get(Experiment.HELD)
        found = slow_worker(own, together, self.noise) if own and together else None
        machine = self.runner.subject.machine
        if found is None or len(machine.hosts) == 1:
            return found
        role = strategy(configuration.strategy).roles(configuration, machine)[found.worker]
        return found.model_copy(update={"host": machine.hosts[role.host].name})

    def _trials(self, configuration: Configuration) -> list[Trial]:
        return [t for t in self.runner.history.trials if t.configuration == configuration]

    def _seconds(self, what: Variant) -> float | None:
        """Return the seconds of a step; None without the time for it, or if it fails."""
        configuration, history = what.configuration, self.runner.history
        if history.costs.seconds(configuration) > self.budget.left:
            return None
        # One that needs no more memory had too little.
        if history.ruled_out.too_large(configuration):
            return None
        result = self.runner.without_trial(configuration, held=what.held, exchanges=what.exchanges)
        seconds = seconds_of_step(result)
        if seconds and not what.exchanges:
            self._own[configuration] = result.step_seconds
        return seconds
