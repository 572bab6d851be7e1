"""KerasTuner: random search over what it can tune.

    python -m benchmarks.peers.with_keras_tuner JOB [PLACE...]

KerasTuner takes one strategy as given and starts no processes. So it gets a fresh process for each
strategy that lives in one process, and an equal share of the time in each. It cannot try groups of
workers. A process is given the places of its configurations in the job's list. It tunes all that
does not belong to the start of TensorFlow.
"""

import json
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import keras_tuner

from autotune.config import Configuration, default_of
from autotune.program import render
from autotune.result.files import write_program
from benchmarks.peers.job import Job

GIVEN = ("strategy", "workers", "replicas_per_worker")
FROM_THE_START = ("intra_op_parallelism_threads",)
"""Axes that TensorFlow reads once per process, so they stay at their defaults."""
METRIC = "examples_per_second"
WARM_UP, SECONDS = 1.0, 2.0
"""Seconds of steps past the first call, which compiles, and of the window that is timed."""
ENDLESS = 1_000_000
"""Epochs."""


class Stopwatch(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times a window of steps after a warm-up, then ends the training."""

    calls_per_second = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._started: list[float] = []
        self._calls = 0

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        del batch
        self._calls += 1
        now = time.monotonic()
        if self._started and now - self._started[-1] < (WARM_UP, SECONDS)[len(self._started) - 1]:
            return
        # Reading a number waits until the device has computed it.
        float(next(iter((logs or {"": 0.0}).values())))
        self._started.append(time.monotonic())
        if len(self._started) > 2:
            self.calls_per_second = self._calls / (self._started[2] - self._started[1])
            self.model.stop_training = True
        self._calls = 0


class Throughput(keras_tuner.RandomSearch):  # type: ignore[misc] # has no types
    """Times the program of each proposal, configurations of one strategy, in this process."""

    def __init__(self, job: Job, mine: Sequence[Configuration], **options: object) -> None:
        super().__init__(**options)
        self._job = job
        self._mine = mine

    def run_trial(self, trial: keras_tuner.engine.trial.Trial, *_: object) -> dict[str, float]:
        """Return the examples per second of one proposal."""
        values = trial.hyperparameters.values
        for each in self._mine:
            if {axis: written(each, axis) for axis in values} == values:
                rate = self._time(each)
                self._job.log(each, rate)
                return {METRIC: rate}
        raise keras_tuner.errors.FailedTrialError("This combination cannot run here.")

    def _time(self, chosen: Configuration) -> float:
        job, stopwatch = self._job, Stopwatch()
        keras.utils.clear_session()
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "train.py"
            write_program(program, render(chosen, job.workload, job.facts, job.machine).train)
            sys.path.insert(0, folder)  # Its modules lie beside it.
            main = runpy.run_path(str(program), run_name="train")["main"]
            main(["--epochs", str(ENDLESS), "--verbose", "0"], callbacks=[stopwatch])
            sys.path.remove(folder)
        return stopwatch.calls_per_second * chosen.global_batch * chosen.steps_per_execution


def main(job_file: str, *places: str) -> None:
    """Search in one process after the other; one that is done early leaves its time to the rest."""
    job = Job.load(job_file)
    if places:
        _search(job, [job.configurations[int(place)] for place in places])
        return
    groups = by_strategy(job.configurations)
    for index, mine in enumerate(groups):
        seconds = max(job.left / (len(groups) - index), 0)
        command = [sys.executable, "-m", __spec__.name, job_file, *map(str, mine)]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, timeout=seconds, check=False)


def by_strategy(configurations: Sequence[Configuration]) -> list[list[int]]:
    """Return the places of what can be tried in one process, grouped by what is given."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, each in enumerate(configurations):
        fixed = all(getattr(each, axis) == default_of(axis) for axis in FROM_THE_START)
        if each.workers == 1 and fixed:
            groups.setdefault(tuple(getattr(each, axis) for axis in GIVEN), []).append(place)
    return list(groups.values())


def _search(job: Job, mine: Sequence[Configuration]) -> None:
    """Search until all is tried or this process is ended."""
    space = keras_tuner.HyperParameters()
    for axis in Configuration.model_fields:
        values = list(dict.fromkeys(written(each, axis) for each in mine))
        if len(values) > 1:
            space.Choice(axis, values)
    with tempfile.TemporaryDirectory() as folder:
        Throughput(
            job,
            mine,
            objective=keras_tuner.Objective(METRIC, "max"),
            max_trials=len(mine),
            max_consecutive_failed_trials=len(mine),
            seed=job.seed,
            hyperparameters=space,
            directory=folder,
        ).search()


def written(configuration: Configuration, axis: str) -> str:
    """Return a value as text: the values of a choice must all be of one type."""
    return json.dumps(getattr(configuration, axis))


if __name__ == "__main__":
    main(*sys.argv[1:])
