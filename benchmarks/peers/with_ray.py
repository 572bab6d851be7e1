"""Ray Tune with ASHA: one trial at a time, a report after each window, the slow ones stopped."""

from __future__ import annotations

import os
import random
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler

from benchmarks.peers.gang import rates
from benchmarks.peers.job import Job

METRIC = "examples_per_second"
WINDOWS = 4
SECONDS = 1.0


def trial(config: dict[str, Any]) -> None:
    """Train one configuration of the list and report each window.

    In processes of its own even where one is enough: a gang needs several, and starting TensorFlow
    in Ray's process would take as long.
    """
    job = Job.load(config["job"])
    configuration = job.configurations[config["place"]]
    measured = False
    for rate in rates(job, configuration, windows=WINDOWS, seconds=SECONDS):
        measured = True
        job.trial(configuration, rate)
        tune.report({METRIC: rate})
    if not measured:
        if job.left > 0:
            job.trial(configuration, None)
        raise RuntimeError("The training gave no figure.")


def use_own_token(scratch: Path) -> None:
    """Give this cluster a token that goes with it; else Ray leaves one in the user's home."""
    token = scratch / "token"
    token.write_text(secrets.token_hex(32), encoding="ascii")
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(token)


def main() -> None:
    """Search until the time is up."""
    job = Job.load(sys.argv[1])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with tempfile.TemporaryDirectory(prefix="r-") as scratch:
        use_own_token(Path(scratch))
        ray.init(
            num_cpus=job.machine.cpus,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=10**8,
            _temp_dir=scratch,
        )
        try:
            tuner(job).fit()
        finally:
            ray.shutdown()


def tuner(job: Job) -> tune.Tuner:
    """Return the search over the job's list."""
    places = range(len(job.configurations))
    shuffle = random.Random(job.seed)  # noqa: S311 - an order of runs
    # A grid in random order is random sampling that proposes nothing twice.
    order = shuffle.sample(places, len(places))
    return tune.Tuner(
        tune.with_resources(trial, {"cpu": job.machine.cpus}),
        param_space={"job": sys.argv[1], "place": tune.grid_search(order)},
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode="max",
            scheduler=ASHAScheduler(max_t=WINDOWS, grace_period=1, reduction_factor=2),
            # Trials side by side would spoil each other's times.
            max_concurrent_trials=1,
            time_budget_s=max(job.left, 1),
        ),
        run_config=tune.RunConfig(storage_path=str(job.folder / "ray"), verbose=0),
    )


if __name__ == "__main__":
    main()
