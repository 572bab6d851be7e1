"""KerasTuner: random search over what it can tune.

KerasTuner takes one strategy as given and starts no processes. So it gets one fresh process for
each strategy that lives in one process, and an equal share of the time in each; gangs of workers
it cannot try. Within a process it tunes whatever does not belong to the start of TensorFlow.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from autotune.config import Configuration, default_of
from benchmarks.peers.job import Job

PROCESS = "benchmarks.peers.keras_tuner_process"
GIVEN = ("strategy", "workers", "replicas_per_worker")
FROM_THE_START = ("intra_op_parallelism_threads",)
"""Axes that TensorFlow reads once per process, so they stay at their defaults."""


def main() -> None:
    """Search in one process after the other; one that is done early leaves its time to the rest."""
    job = Job.load(sys.argv[1])
    groups = by_strategy(job.configurations)
    for index, places in enumerate(groups):
        seconds = max(job.left / (len(groups) - index), 0)
        command = [sys.executable, "-m", PROCESS, sys.argv[1], *map(str, places)]
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


if __name__ == "__main__":
    main()
