"""A hand-written search: one of the tuners, with one way of measuring.

python -m benchmarks.peers.search JOB TUNER processes|engine
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from benchmarks.peers.gang import InProcesses
from benchmarks.peers.job import Job
from benchmarks.peers.on_engine import on_engine
from benchmarks.tuners.chance import at_random, with_best_again
from benchmarks.tuners.meter import Meter, Tuner
from benchmarks.tuners.tpe import tpe, tpe_in_proportion

TUNERS: Mapping[str, Tuner] = {
    "random": at_random,
    "random_again": with_best_again(at_random),
    "tpe": tpe,
    "tpe_in_proportion": tpe_in_proportion,
}


def main(job_file: str, tuner: str, machine: str) -> None:
    """Search until the time is up."""
    job = Job.load(job_file)
    if machine == "processes":
        _search(job, TUNERS[tuner], InProcesses(job))
        return
    with on_engine(job) as meter:
        _search(job, TUNERS[tuner], meter)


def _search(job: Job, tuner: Tuner, meter: Meter) -> None:
    chosen = tuner(job.configurations, meter, job.seed)
    if chosen is not None:
        job.recommend(chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
