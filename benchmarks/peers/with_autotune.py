"""autotune itself, by its public call."""

import sys

from autotune import Event, SearchOptions, TrialEnded, Tuner
from autotune.objective import MAX_THROUGHPUT
from benchmarks.peers.job import Job


def main() -> None:
    """Search within the limit, log each trial that ran, and what is recommended."""
    job = Job.load(sys.argv[1])

    def observer(event: Event) -> None:
        if isinstance(event, TrialEnded) and event.trial.wall_seconds:
            trial = event.trial
            job.log(trial.configuration, trial.examples_per_second if trial.measured else None)

    result = Tuner(observer=observer).tune(
        f"{job.file}:model_fn",
        f"{job.file}:dataset_fn",
        space=job.space,
        budget=job.left,
        options=SearchOptions(objective=MAX_THROUGHPUT.name, seed=job.seed),
        out=job.folder / "search",
    )
    job.recommend(result.config)


if __name__ == "__main__":
    main()
