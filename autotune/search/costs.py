"""What trials are expected to take, and therefore a whole search.

It is guessed from an inspection and learned from trials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from autotune.config import Configuration
from autotune.stats.windows import BLOCK_SECONDS
from autotune.text import as_text
from autotune.trial import Trial
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
