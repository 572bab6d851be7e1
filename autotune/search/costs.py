"""What trials are expected to take: guessed from the look at the model, learned from trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from autotune.config import Configuration
from autotune.trial import Trial
from autotune.workload import WorkloadFacts

SMALL_CALL = 1.0
"""Seconds of the first call of a small model's step, which traces and compiles it; ..."""
OPERATION_SECONDS = 0.013
"""... what each operation of the model's forward pass adds, its gradient included: MobileNetV2 has
2,126 and takes 28 s on two cores. The first trial corrects it."""
STARTING = 0.4
"""Rough seconds that a process takes beside its first call and its steps; ..."""
JOINING = 1.0
"""... what each further replica adds, in the same process or in one of its own."""
REPLICA_CALL = 0.25
"""By what share of it a first call grows with each further replica of the process."""
STEADY_SECONDS = 1.6
"""Shortest time that a measurement takes once steps are running."""
CALLS = 5
"""Calls of the training step that a measurement takes at least; slow ones make it long."""


def expected_first_call(facts: WorkloadFacts) -> float:
    """Return the seconds that the first call of a step on one device is expected to take."""
    return SMALL_CALL + OPERATION_SECONDS * facts.operations


class Start(NamedTuple):
    """The seconds of a trial before its second step."""

    processes: float
    """Until its processes train, and until they are gone."""
    first_call: float
    """Of the first call, which traces and compiles."""

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.processes + self.first_call


class Costs:
    """Expects of a trial what trials like it took.

    Args:
        trials: Everything that was run so far.
        first_call: Seconds that the first call of the step is expected to take on one device.
    """

    def __init__(self, trials: Iterable[Trial], first_call: float = SMALL_CALL) -> None:
        # A trial that hung says what a hang takes.
        ran = [trial for trial in trials if trial.examples_per_second]
        self._guessed_call = first_call
        self._own: dict[Configuration, list[float]] = defaultdict(list)
        self._starts: dict[tuple[int, int], list[Start]] = defaultdict(list)
        for trial in ran:
            self._own[trial.configuration].append(trial.wall_seconds)
            self._starts[_placement(trial.configuration)].append(_start_of(trial))
        rates = [trial.examples_per_second or 0.0 for trial in ran]
        self._rate = median(rates) if rates else None
        self._late, self._factor = self._corrections()

    def seconds(self, configuration: Configuration) -> float:
        """Return the expected wall time of a trial."""
        own = self._own.get(configuration)
        if own:
            return fmean(own)
        return self.start(configuration) + self._steps(configuration)

    def start(self, configuration: Configuration) -> float:
        """Return what a trial is expected to take beside its steps."""
        own = self._starts.get(_placement(configuration))
        if own:
            return median(start.seconds for start in own)
        guess = self._guess(*_placement(configuration))
        late = self._late * configuration.processes
        return max(guess.processes + late, 0.0) + guess.first_call * self._factor

    def first_call(self, configuration: Configuration) -> float:
        """Return what its first call is expected to take."""
        own = self._starts.get(_placement(configuration))
        if own:
            return median(start.first_call for start in own)
        guess = self._guess(*_placement(configuration))
        return guess.first_call * self._factor

    def total(self, configurations: Sequence[Configuration]) -> float:
        """Return the expected wall time of one trial of each."""
        return sum(self.seconds(each) for each in configurations)

    def _steps(self, configuration: Configuration) -> float:
        if not self._rate:
            return STEADY_SECONDS
        examples = configuration.global_batch * configuration.steps_per_execution
        return max(STEADY_SECONDS, CALLS * examples / self._rate)

    def _guess(self, processes: int, replicas: int) -> Start:
        """Return the start that is expected while nothing like it was run."""
        call = self._guessed_call * (1 + REPLICA_CALL * (replicas - 1))
        return Start(STARTING + JOINING * (processes * replicas - 1), call)

    def _corrections(self) -> tuple[float, float]:
        """Return how much later a process starts than guessed, and a factor for the first call.

        A slow disk or a full machine adds to a start; a large model multiplies its first call.
        """
        seen = [
            (at, each, self._guess(*at)) for at, starts in self._starts.items() for each in starts
        ]
        if not seen:
            return 0.0, 1.0
        late = median((each.processes - guess.processes) / at[0] for at, each, guess in seen)
        return late, median(each.first_call / guess.first_call for _, each, guess in seen)


def _placement(configuration: Configuration) -> tuple[int, int]:
    """Return its processes, and the replicas of each: starts differ by these."""
    return configuration.processes, configuration.replicas_per_worker


def _start_of(trial: Trial) -> Start:
    running = sum(window.seconds for window in trial.windows)
    first_call = trial.first_step_seconds or 0.0
    return Start(max(trial.wall_seconds - running - first_call, 0.0), first_call)
