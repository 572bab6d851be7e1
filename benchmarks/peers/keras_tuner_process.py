"""KerasTuner's search under one strategy, in one process.

    python -m benchmarks.peers.keras_tuner_process JOB PLACE...

The places are those of the configurations in the job's list.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import keras
import keras_tuner

from autotune.config import Configuration
from autotune.result.files import write_program
from benchmarks.peers.job import Job
from benchmarks.peers.stopwatch import Stopwatch, train

METRIC = "examples_per_second"
SECONDS = 2.0


class Throughput(keras_tuner.RandomSearch):  # type: ignore[misc] # has no types
    """Times the program of each proposal, configurations of one strategy, in this process."""

    def __init__(
        self, job: Job, configurations: Sequence[Configuration], **options: object
    ) -> None:
        super().__init__(**options)
        self._job = job
        self._configurations = configurations

    def run_trial(self, trial: keras_tuner.engine.trial.Trial, *_: object) -> dict[str, float]:
        """Return the examples per second of one proposal."""
        values = trial.hyperparameters.values
        for each in self._configurations:
            if choices(each, values) == values:
                rate = self._time(each)
                self._job.trial(each, rate)
                return {METRIC: rate}
        raise keras_tuner.errors.FailedTrialError("This combination cannot run here.")

    def _time(self, chosen: Configuration) -> float:
        rates: list[float] = []
        examples = chosen.global_batch * chosen.steps_per_execution
        keras.utils.clear_session()
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "train.py"
            write_program(program, self._job.program(chosen))
            train(program, Stopwatch(examples, SECONDS, 1, rates.append))
        return rates[0]


def main(job_file: str, *places: str) -> None:
    """Search until all is tried or this process is ended."""
    job = Job.load(job_file)
    configurations = [job.configurations[int(place)] for place in places]
    with tempfile.TemporaryDirectory() as folder:
        Throughput(
            job,
            configurations,
            objective=keras_tuner.Objective(METRIC, "max"),
            max_trials=len(configurations),
            max_consecutive_failed_trials=len(configurations),
            seed=job.seed,
            hyperparameters=space_of(configurations),
            directory=folder,
        ).search()


def space_of(configurations: Sequence[Configuration]) -> keras_tuner.HyperParameters:
    """Return the axes that have several values."""
    space = keras_tuner.HyperParameters()
    for axis in Configuration.model_fields:
        values = list(dict.fromkeys(written(each, axis) for each in configurations))
        if len(values) > 1:
            space.Choice(axis, values)
    return space


def choices(configuration: Configuration, axes: Iterable[str]) -> dict[str, str]:
    """Return a configuration as KerasTuner's values."""
    return {axis: written(configuration, axis) for axis in axes}


def written(configuration: Configuration, axis: str) -> str:
    """Return a value as text: the values of a choice must all be of one type."""
    return json.dumps(getattr(configuration, axis))


if __name__ == "__main__":
    main(*sys.argv[1:])
