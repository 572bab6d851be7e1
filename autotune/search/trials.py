"""The trials of a search: what one is expected to take, what it must pass, and what all have shown.

- *Costs* are guessed from an inspection, and learned from trials.
- A trial's *record* says what the windows of its run let expect of later epochs.
- The *history* reads all trials as measurements.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean, median
from typing import NamedTuple

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.engine.tasks import Fill
from autotune.objective import Score, throughput_of
from autotune.reason import Outcome
from autotune.search.failures import ATTEMPTS, RuledOut
from autotune.search.setup import Subject
from autotune.search.stopping import PATIENCE
from autotune.stats.windows import (
    BLOCK_SECONDS,
    UNKNOWN,
    Epoch,
    read,
    steady_from,
)
from autotune.strategies import strategy
from autotune.text import as_text
from autotune.trial import Stage, Trial, counting
from autotune.workload import WorkloadFacts

SMALL_CALL = 1.0
"""Seconds of the first call of a small model's step, which traces and compiles it."""
STARTING = 0.4
"""Rough seconds that a process takes beside its first call and its steps."""
REFERENCE_RUNS = 2.0
"""Trials of one device that its part of a certification is worth, at most."""


class Start(NamedTuple):
    """The seconds of a trial before its second step."""

    processes: float
    """Until its processes train, and until they are gone."""
    first_call: float
    """Of the first call, which traces and compiles."""


SMALL_START = Start(0.0, SMALL_CALL)
"""Of a small model, beside what every process takes."""


def expected_start(facts: WorkloadFacts) -> Start:
    """Return what a trial on one device is expected to take, beside what every process takes.

    A script's own first step tells. Else each operation of the model's forward pass adds to the
    first call, its gradient included: MobileNetV2 has 2,126 and takes 28 s on two cores. The first
    trial corrects it.
    """
    guessed = SMALL_CALL + 0.013 * facts.operations
    return Start(facts.calling_seconds, facts.first_step_seconds or guessed)


def too_short(training: float | None) -> str:
    """Return what is told at once of a training that is over before any trial; empty otherwise."""
    if training is None or training >= Costs(()).seconds(Configuration()):
        return ""
    return f"A training of {as_text(training)} is over before a single trial: no search saves time."


class Costs:
    """Expects of a trial what trials like it took, or else what the inspection lets expect."""

    def __init__(self, trials: Iterable[Trial], expected: Start = SMALL_START) -> None:
        # A trial that hung says what a hang takes.
        ran = [trial for trial in trials if trial.examples_per_second]
        self._own: dict[Configuration, list[float]] = defaultdict(list)
        self._starts: dict[tuple[int, int], list[Start]] = defaultdict(list)
        late, calls = [], []
        for trial in ran:
            configuration, call = trial.configuration, trial.first_step_seconds or 0.0
            running = sum(window.seconds for window in trial.windows)
            start = Start(max(trial.wall_seconds - running - call, 0.0), call)
            self._own[configuration].append(trial.wall_seconds)
            self._starts[_placement(configuration)].append(start)
            late.append((start.processes - _processes(configuration)) / configuration.processes)
            # As it would have been on one device.
            added = max(call - SMALL_CALL, 0.0)
            calls.append(call - added + added / _copies(configuration))
        rates = [trial.examples_per_second or 0.0 for trial in ran]
        self._rate = median(rates) if rates else None
        # A slow disk or a full machine adds to the start of a process.
        self._late = median(late) if late else expected.processes
        self._call = median(calls) if calls else expected.first_call

    def seconds(self, configuration: Configuration) -> float:
        """Return the expected wall time of a trial."""
        own = self._own.get(configuration)
        if own:
            return fmean(own)
        # Five calls of the training step at least; slow ones make it long.
        return self.start(configuration) + max(4 * BLOCK_SECONDS, 5 * self.call(configuration))

    def start(self, configuration: Configuration) -> float:
        """Return what a trial is expected to take beside its steps."""
        own = self._starts.get(_placement(configuration))
        if own:
            return median(map(sum, own))
        late = self._late * configuration.processes
        return max(_processes(configuration) + late, 0.0) + self.first_call(configuration)

    def first_call(self, configuration: Configuration) -> float:
        own = self._starts.get(_placement(configuration))
        if own:
            return median(start.first_call for start in own)
        return self._call + (_copies(configuration) - 1) * max(self._call - SMALL_CALL, 0.0)

    def call(self, configuration: Configuration) -> float:
        """Return what a call of its step is expected to take; 0 while no rate is known."""
        examples = configuration.global_batch * configuration.steps_per_execution
        return examples / self._rate if self._rate else 0.0

    def total(self, configurations: Sequence[Configuration]) -> float:
        return sum(self.seconds(each) for each in configurations)


def _processes(configuration: Configuration) -> float:
    """Return what the start of its processes takes while nothing is known of this machine.

    Each further replica adds a second, in the same process or in one of its own.
    """
    return STARTING + 1.0 * (configuration.replicas - 1)


def _copies(configuration: Configuration) -> float:
    """Return how many times what a model adds to a first call is added.

    The graph grows by a copy of the model for each replica. MobileNetV2 takes 1.9 times as long
    with two, small models 1.2 times.
    """
    return 1 + 0.6 * (configuration.replicas_per_worker - 1)


def _placement(configuration: Configuration) -> tuple[int, int]:
    """Return its processes, and the replicas of each: starts differ by these."""
    return configuration.processes, configuration.replicas_per_worker


def fill_of(configuration: Configuration, subject: Subject) -> Fill | None:
    """Return which caches are filled before a configuration trains; None if there are none.

    Workers that a coordinator sends their input have nobody to fill theirs before.
    """
    facts = subject.facts
    apart = strategy(configuration.strategy).asynchronous
    if apart or not facts.examples or not _caches(configuration, facts):
        return None
    share = configuration.workers if configuration.shard_policy == "source" else 1
    examples, first = math.ceil(facts.examples / share), facts.first_pass
    # All are read where that takes half as long again as what is read soon.
    soon = first.examples_per_second * PATIENCE if first else math.inf
    whole = examples <= 1.5 * soon
    count = examples if whole else max(int(soon), configuration.global_batch)
    # Several processes that share the cores read more slowly than one alone.
    return Fill(examples=count, whole=whole, seconds=2 * PATIENCE)


def _caches(configuration: Configuration, facts: WorkloadFacts) -> bool:
    return configuration.cache != "off" or facts.cached


def epoch_of(configuration: Configuration, subject: Subject) -> Epoch:
    """Return what is known of a configuration's epochs before it runs."""
    facts, batch = subject.facts, configuration.global_batch
    calls_back = subject.workload.callbacks is not None or bool(facts.fit and facts.fit.callbacks)
    again = facts.second_pass or facts.first_pass
    pause = again.pause if again else 0.0
    prefetch = configuration.prefetch if isinstance(configuration.prefetch, int) else 0
    steps = facts.examples / batch if facts.examples else math.inf
    # Each worker has a pipeline of its own.
    ready = facts.prefetched * configuration.workers / batch + prefetch
    fills_meanwhile = _caches(configuration, facts) and not fill_of(configuration, subject)
    return Epoch(
        steps=steps,
        ready=ready + steps if fills_meanwhile else ready,
        pause=pause,
        # A shorter wait does not change a rate that is worth a verdict.
        eventful=pause > 0.05 or calls_back,
    )


def trial_of(
    number: int,
    stage: Stage,
    configuration: Configuration,
    result: RunResult,
    epoch: Epoch = UNKNOWN,
) -> Trial:
    start = steady_from(result.windows, epoch)
    shown = result.windows[start:] if start is not None else ()
    if result.outcome is Outcome.PRUNED and not shown:
        shown = result.windows[len(result.windows) // 2 :]
    reading, least = read(shown, epoch) if shown else None, 1.0
    if reading and not (any(each.ends for each in shown) or math.isinf(epoch.steps)):
        # No end of an epoch was seen, which leaves only a share of the rate.
        whole = epoch.steps / reading.steps_per_second
        least = whole / (whole + epoch.pause)
    return Trial(
        **dict(result),
        number=number,
        stage=stage,
        configuration=configuration,
        examples_per_second=reading and reading.steps_per_second * configuration.global_batch,
        error=reading and reading.error,
        least=least,
        steady_from=start,
    )


ROUGH = 0.15
"""Standard error of log(score) of a run that was stopped before it was measured."""


class History:
    """Reads the trials of a study, oldest first, as measurements of configurations.

    The start is what the inspection lets expect of a process on one device.
    """

    def __init__(
        self,
        trials: Iterable[Trial],
        score: Score = throughput_of,
        start: Start = SMALL_START,
    ) -> None:
        self.score = score
        self.trials: list[Trial] = []
        """All of them, oldest first."""
        self._scores: dict[Configuration, list[float]] = defaultdict(list)
        self._start = start
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        score = self.score(trial)
        if trial.measured and score:
            self._scores[trial.configuration].append(score)
        for derived in ("ruled_out", "costs"):
            self.__dict__.pop(derived, None)

    @property
    def timed(self) -> int:
        """How many of them took any time."""
        return sum(trial.wall_seconds > 0 for trial in self.trials)

    @property
    def tried(self) -> set[Configuration]:
        """Configurations with an outcome of their own, or none in `ATTEMPTS` attempts."""
        lost = Counter(trial.configuration for trial in self.trials if trial.interrupted)
        own = {trial.configuration for trial in self.trials if not trial.interrupted}
        return own | {c for c, times in lost.items() if times >= ATTEMPTS}

    def scores(self, configuration: Configuration) -> Sequence[float]:
        """Return the score of each run of a configuration that was measured."""
        return tuple(self._scores.get(configuration, ()))

    @property
    def repeats(self) -> int:
        """How many measured runs were not the first of their configuration."""
        return sum(len(scores) - 1 for scores in self._scores.values())

    def throughput(self, configuration: Configuration) -> float:
        """Return the median of the examples per second of what has shown a speed."""
        mine = [t for t in self.trials if t.configuration == configuration and t.shown]
        return median(rate for t in counting(mine) if (rate := t.examples_per_second))

    @property
    def baseline(self) -> Configuration | None:
        """The best single-device configuration so far, by the scores of its own runs."""
        mine = [c for c in self._scores if not c.distributed]
        return max(mine, key=lambda c: fmean(map(math.log, self._scores[c])), default=None)

    @cached_property
    def ruled_out(self) -> RuledOut:
        return RuledOut(self.trials)

    @cached_property
    def costs(self) -> Costs:
        return Costs(self.trials, self._start)
