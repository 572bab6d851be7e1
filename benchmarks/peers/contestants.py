"""Who takes part, and how each is run: as a process of its own that ends at the limit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from job import ROOT, Job

from autotune.value import Value

HERE = Path(__file__).parent
GRACE_SECONDS = 30.0
"""A contestant that is still at it so long after the limit is ended."""
COLD = {"AUTOTUNE_CACHE": "off"}
"""Nobody starts with what an earlier search has measured."""
_PR_SET_CHILD_SUBREAPER = 36


class Contestant(Value):
    """A way to find a configuration."""

    script: str
    title: str
    how: str
    """What it does, for the page."""


CONTESTANTS = {
    "autotune": Contestant(
        script="with_autotune.py",
        title="autotune",
        how="its public call, with the limit as budget, and nothing kept from earlier searches",
    ),
    "optuna": Contestant(
        script="with_optuna.py",
        title="Optuna loop",
        how="`study.optimize` with the default TPE sampler, a fresh process per trial, "
        "1 s of warm-up and 2 s of timing",
    ),
    "keras_tuner": Contestant(
        script="with_keras_tuner.py",
        title="KerasTuner",
        how="`RandomSearch` with a `run_trial` that times, in one process per strategy; it takes "
        "the strategy as given, so it cannot try several workers, nor threads per process",
    ),
    "ray": Contestant(
        script="with_ray.py",
        title="Ray Tune, ASHA",
        how="random order, one trial at a time, a report after each of at most 4 windows of 1 s",
    ),
    "random": Contestant(
        script="at_random.py",
        title="random search",
        how="the trials of the Optuna loop in random order",
    ),
    "rule": Contestant(
        script="by_rule.py",
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
            _search(CONTESTANTS[name].script, job, {**os.environ, **COLD, "TMPDIR": scratch})
        finally:
            _leave_nothing()


def _search(script: str, job: Job, environment: Mapping[str, str]) -> None:
    command = [sys.executable, str(HERE / script), str(job.save())]
    with (job.folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command,
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
