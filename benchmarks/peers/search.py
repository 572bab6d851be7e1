"""Random search or TPE on autotune's engine, where a trial costs what it costs autotune.

python -m benchmarks.peers.search JOB TUNER
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.resolve import reserved_engine
from autotune.search.runner import request_of
from autotune.search.setup import Subject
from autotune.search.stopping import MeasureWatch
from autotune.search.trials import epoch_of, trial_of
from autotune.trial import Stage
from benchmarks.peers.job import Job
from benchmarks.peers.tuners import TUNERS


@dataclass
class OnEngine:
    """Measures each configuration once, and logs it."""

    job: Job
    engine: Engine
    trial_seconds = 5.0
    count: int = 0

    @property
    def left(self) -> float:
        return self.job.left

    def measure(self, configuration: Configuration) -> float | None:
        self.count += 1
        rate = self.rate(configuration, self.job.folder / "runs" / str(self.count))
        self.job.log(configuration, rate)
        return rate

    def rate(self, configuration: Configuration, folder: Path) -> float | None:
        """Return the examples per second of a trial, None if it failed."""
        job = self.job
        subject = Subject(workload=job.workload, facts=job.facts, machine=job.machine)
        epoch = epoch_of(configuration, subject)
        request = request_of(configuration, subject, folder)
        result = self.engine.execute(request, MeasureWatch(epoch=epoch))
        trial = trial_of(0, Stage.REPEAT, configuration, result, epoch)
        return trial.examples_per_second if trial.measured else None


@contextmanager
def on_engine(job: Job) -> Iterator[OnEngine]:
    """Start an engine of this machine for one search."""
    with reserved_engine(None, "a comparison with other tuners", print) as engine:
        yield OnEngine(job, engine)


def main(job_file: str, tuner: str) -> None:
    """Search until the time is up."""
    job = Job.load(job_file)
    with on_engine(job) as meter:
        chosen = TUNERS[tuner](job.configurations, meter, job.seed)
    if chosen is not None:
        job.recommend(chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
