"""Engines for workers of the tests; the settings name them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from autotune.config import Configuration
from autotune.run.engine import RunResult, TrialRequest, Watch
from autotune.testing import FakeEngine

SLEEPER = (
    "import ctypes, os, signal, sys, time; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); "
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "time.sleep(600)"
)
"""As a trial's process does, it dies with its parent and ignores everything else."""


def _speed(configuration: Configuration) -> float:
    return 1000.0 * configuration.per_replica_batch**0.5 / configuration.replicas


class Sleepers(FakeEngine):
    """Each trial starts real processes in sessions of their own, and never ends."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Sleep until it is interrupted."""
        del request, watch
        own = [
            subprocess.Popen(
                [sys.executable, "-c", SLEEPER, str(os.getpid())], start_new_session=True
            )
            for _ in range(3)
        ]
        while all(each.poll() is None for each in own):
            time.sleep(0.05)
        raise AssertionError("a sleeper ended")


class Stubborn(Sleepers):
    """As before, and it swallows every interrupt."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Sleep whatever happens."""
        while True:
            try:
                return super().run(request, watch)
            except KeyboardInterrupt:
                continue


class Slow(FakeEngine):
    """Takes a moment of real time for each trial."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer after a moment."""
        time.sleep(0.3)
        return super().run(request, watch)


class Deadly(FakeEngine):
    """One configuration kills the whole process."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Die at some batch size, else answer."""
        if request.configuration.per_replica_batch == 128:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(request, watch)


def quick() -> FakeEngine:
    """Return an engine that takes no time."""
    return FakeEngine(_speed)


def slow() -> FakeEngine:
    """Return an engine that takes a moment."""
    return Slow(_speed)


def sleepers() -> FakeEngine:
    """Return an engine with real processes."""
    return Sleepers(_speed)


def stubborn() -> FakeEngine:
    """Return an engine with real processes that cannot be interrupted."""
    return Stubborn(_speed)


def deadly() -> FakeEngine:
    """Return an engine that dies."""
    return Deadly(_speed)
