"""What a trial is expected to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from autotune.config import Configuration
from autotune.trial import Trial

SECONDS_ALONE = 3.0
SECONDS_PER_PROCESS = 3.0
"""Rough wall time of a trial of one process, and of each process of a gang, on a small model."""
STEADY_SECONDS = 1.6
"""Shortest time that a measurement takes once steps are running."""
CALLS = 5
"""Calls of the training step that a measurement takes at least; slow ones make it long."""


class Costs:
    """Expects of a trial what trials like it took.

    Args:
        trials: Everything that was run so far.
    """

    def __init__(self, trials: Iterable[Trial]) -> None:
        # A trial that hung says what a hang takes.
        ran = [trial for trial in trials if trial.examples_per_second]
        self._own: dict[Configuration, list[float]] = defaultdict(list)
        self._starts: dict[int, list[float]] = defaultdict(list)
        for trial in ran:
            running = sum(window.seconds for window in trial.windows)
            self._own[trial.configuration].append(trial.wall_seconds)
            self._starts[trial.configuration.processes].append(trial.wall_seconds - running)
        rates = [trial.examples_per_second or 0.0 for trial in ran]
        self._rate = median(rates) if rates else None

    def seconds(self, configuration: Configuration) -> float:
        """Return the expected wall time of a trial."""
        own = self._own.get(configuration)
        if own:
            return fmean(own)
        starts = self._starts.get(configuration.processes)
        if not starts or not self._rate:
            return guessed_seconds(configuration)
        examples = configuration.global_batch * configuration.steps_per_execution
        return median(starts) + max(STEADY_SECONDS, CALLS * examples / self._rate)

    def total(self, configurations: Sequence[Configuration]) -> float:
        """Return the expected wall time of one trial of each."""
        return sum(self.seconds(each) for each in configurations)


def guessed_seconds(configuration: Configuration) -> float:
    """Return the rough wall time of a trial while nothing like it was run."""
    processes = configuration.processes
    return SECONDS_ALONE if processes == 1 else SECONDS_PER_PROCESS * processes
