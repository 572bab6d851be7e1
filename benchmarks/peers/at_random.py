"""Random search: the same trials as the Optuna loop, in random order."""

from __future__ import annotations

import random
import sys

from gang import measure
from job import Job


def main() -> None:
    """Measure one configuration after the other until the time is up."""
    job = Job.load(sys.argv[1])
    shuffle = random.Random(job.seed)  # noqa: S311 - an order of runs
    for configuration in shuffle.sample(job.configurations, len(job.configurations)):
        if job.left <= 0:
            return
        measure(job, configuration)


if __name__ == "__main__":
    main()
