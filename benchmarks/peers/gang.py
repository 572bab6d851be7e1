"""A trial in fresh processes, as the hand-written loops and Ray's trials make it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer

from autotune.config import Configuration
from autotune.machine import held_ports
from autotune.result.files import write_program
from autotune.roles import Role, tf_config
from autotune.strategies import strategy
from benchmarks.peers.job import ROOT, Job
from benchmarks.peers.mark import MARK

TRIAL_SECONDS = 60.0
"""A trial that takes longer is given up."""
WINDOW_SECONDS = 2.0


class InProcesses:
    """Measures each configuration once in fresh processes, and logs it."""

    trial_seconds = 10.0
    """TensorFlow's start, the first step, a second of warm-up, and the window."""

    def __init__(self, job: Job) -> None:
        self._job = job

    @property
    def left(self) -> float:
        """Seconds until the limit."""
        return self._job.left

    def measure(self, configuration: Configuration) -> float | None:
        """Return the examples per second of one window, None if it failed."""
        rate = next(rates(self._job, configuration), None)
        if rate is not None or self.left > 0:
            self._job.trial(configuration, rate, number=self._job.next_number)
        return rate


def rates(
    job: Job, configuration: Configuration, *, windows: int = 1, seconds: float = WINDOW_SECONDS
) -> Iterator[float]:
    """Train in fresh processes and yield the examples per second of each window."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "train.py"
        write_program(program, job.program(configuration))
        examples = configuration.global_batch * configuration.steps_per_execution
        arguments = [str(program), str(examples), str(seconds), str(windows)]
        workers = [_start(arguments, each) for each in _environments(job, configuration)]
        watchdog = Timer(max(min(TRIAL_SECONDS, job.left), 0), _end, [workers])
        watchdog.start()
        try:
            for line in workers[0].stdout or ():
                if line.startswith(MARK):
                    yield float(line.removeprefix(MARK))
        finally:
            watchdog.cancel()
            _end(workers)


def _start(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.timed", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _environments(job: Job, configuration: Configuration) -> Iterator[dict[str, str]]:
    roles = strategy(configuration.strategy).roles(configuration, job.machine)
    with held_ports(len(roles)) as ports:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        for role in roles:
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **_visible(role)}
            if len(roles) > 1:
                environment["TF_CONFIG"] = tf_config(roles, addresses, role)
            yield environment


def _visible(role: Role) -> dict[str, str]:
    if role.gpus is None:
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, role.gpus))}


def _end(workers: Sequence[subprocess.Popen[str]]) -> None:
    """End all workers; not by SIGTERM, which TensorFlow ignores in a worker."""
    for worker in workers:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
