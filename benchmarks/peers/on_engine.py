"""A trial as autotune makes it: forked from a process that has TensorFlow, ended when measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.resolve import reserved_engine
from autotune.search.epochs import epoch_of, trial_of
from autotune.search.request import Subject
from autotune.search.runner import request_of
from autotune.search.stopping import MeasureWatch
from autotune.trial import Stage, Trial
from benchmarks.peers.job import Job


class OnEngine:
    """Measures each configuration once on autotune's engine, and logs it."""

    trial_seconds = 5.0

    def __init__(self, job: Job, engine: Engine) -> None:
        self._job = job
        self._engine = engine
        self._count = 0

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self._job.left

    def measure(self, configuration: Configuration) -> float | None:
        """Return the examples per second of a trial, None if it failed."""
        trial = self.trial(configuration, self._job.folder / "runs" / str(self._count))
        self._count += 1
        rate = trial.examples_per_second if trial.measured else None
        self._job.trial(configuration, rate, number=self._count)
        return rate

    def trial(self, configuration: Configuration, folder: Path) -> Trial:
        """Run a configuration and return its trial."""
        job = self._job
        subject = Subject(workload=job.workload, facts=job.facts, machine=job.machine)
        epoch = epoch_of(configuration, subject)
        request = request_of(configuration, subject, folder)
        result = self._engine.execute(request, MeasureWatch(epoch=epoch))
        return trial_of(0, Stage.REPEAT, configuration, result, epoch)


@contextmanager
def on_engine(job: Job) -> Iterator[OnEngine]:
    """Start an engine of this machine for one search."""
    with reserved_engine(None, "a comparison with other tuners", print) as engine:
        yield OnEngine(job, engine)
