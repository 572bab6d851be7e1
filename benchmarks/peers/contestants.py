"""Who takes part, and how each is run: as a process of its own that ends at the limit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psutil

from autotune.value import Value
from benchmarks.peers.job import ROOT, Job

GRACE_SECONDS = 30.0
"""A contestant that is still at it so long after the limit is ended."""
"""Nobody starts with what an earlier search has measured."""
_PR_SET_CHILD_SUBREAPER = 36


class Contestant(Value):
    """A way to find a configuration."""

    command: tuple[str, ...]
    """Of the module, what follows the job."""
    title: str
    how: str
    """What it does, for the page."""
    own_engine: bool = False
    """Whether it measures on autotune's engine, so that only the search differs."""


SEARCH = "search"
CONTESTANTS = {
    "autotune": Contestant(
        command=("with_autotune",),
        title="autotune",
        how="its public call, with the limit as budget",
        own_engine=True,
    ),
    "optuna": Contestant(
        command=(SEARCH, "tpe", "processes"),
        title="Optuna loop",
        how="the default TPE sampler, a fresh process per trial, 1 s of warm-up and 2 s of timing",
    ),
    "optuna_proportion": Contestant(
        command=(SEARCH, "tpe_in_proportion", "processes"),
        title="Optuna loop, start-up in proportion",
        how="the same, with a quarter of the trials that the time allows at random, not 10",
    ),
    "keras_tuner": Contestant(
        command=("with_keras_tuner",),
        title="KerasTuner",
        how="`RandomSearch` with a `run_trial` that times, in one process per strategy; it takes "
        "the strategy as given, so it cannot try several workers, nor threads per process",
    ),
    "ray": Contestant(
        command=("with_ray",),
        title="Ray Tune, ASHA",
        how="random order, one trial at a time, a report after each of at most 4 windows of 1 s",
    ),
    "random": Contestant(
        command=(SEARCH, "random", "processes"),
        title="random search",
        how="the trials of the Optuna loop in random order",
    ),
    "random_again": Contestant(
        command=(SEARCH, "random_again", "processes"),
        title="random search, best three again",
        how="the same, with the last part of the time for the best three, twice again each",
    ),
    "engine_optuna": Contestant(
        command=(SEARCH, "tpe_in_proportion", "engine"),
        title="TPE on autotune's engine",
        how="TPE with its start-up in proportion; each trial is made as autotune makes its own",
        own_engine=True,
    ),
    "engine_random": Contestant(
        command=(SEARCH, "random", "engine"),
        title="random search on autotune's engine",
        how="stands for KerasTuner's and Ray's order, too, which are random",
        own_engine=True,
    ),
    "engine_random_again": Contestant(
        command=(SEARCH, "random_again", "engine"),
        title="the same, best three again",
        how="with the last part of the time for the best three, twice again each",
        own_engine=True,
    ),
    "rule": Contestant(
        command=("by_rule",),
        title="the rule",
        how='"more than one device: Mirrored", with Keras\'s defaults and no trial',
    ),
}


def run(name: str, job: Job) -> None:
    """Let one contestant search; nothing of it but its log is left when this returns."""
    _adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="p-", ignore_cleanup_errors=True) as scratch:
        job = job.model_copy(update={"folder": job.folder / name, "began": time.monotonic()})
        try:
            _search(CONTESTANTS[name].command, job, {**os.environ, "TMPDIR": scratch})
        finally:
            _leave_nothing()


def _search(command: Sequence[str], job: Job, environment: Mapping[str, str]) -> None:
    module, *arguments = command
    program = [sys.executable, "-m", f"benchmarks.peers.{module}", str(job.save()), *arguments]
    with (job.folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            program,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(job.left + GRACE_SECONDS)


def _adopt_orphans() -> None:
    """Become the parent of whatever loses its own, so that it can be ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _leave_nothing() -> None:
    left = psutil.Process().children(recursive=True)
    while left:
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(left, timeout=10)
        left = psutil.Process().children(recursive=True)
