"""Engines for workers of the tests; the settings name them."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks.train import TrialRequest
from autotune.errors import EngineError, FactoryFailed
from autotune.machine import Machine
from autotune.reason import Message, Outcome
from autotune.testing import FakeEngine

SLEEPER = (
    "import ctypes, os, signal, sys, time; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); "
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "time.sleep(600)"
)
"""As a trial's process does, it dies with its parent and ignores everything else."""


_DIED = RunResult(outcome=Outcome.CRASHED, reason=Message(text="A process of the trial died."))


def _sleeper(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, *options, "-c", SLEEPER, str(os.getpid())]
    return subprocess.Popen(command, start_new_session=True)


def _speed(configuration: Configuration) -> float:
    return 1000.0 * configuration.per_replica_batch**0.5 / configuration.replicas


class Sleepers(FakeEngine):
    """Each trial starts real processes in sessions of their own, and never ends."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Sleep until it is interrupted."""
        del request, watch
        own = [_sleeper() for _ in range(3)]
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


class Brief(FakeEngine):
    """Each trial has two real processes for a moment, and crashes if one of them dies."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer after a moment, if both live that long."""
        ranks = [_sleeper("-I", "-S") for _ in range(2)]
        try:
            time.sleep(0.25)
            died = any(each.poll() is not None for each in ranks)
        finally:
            for each in ranks:
                each.kill()
                each.wait()
        return _DIED if died else super().run(request, watch)


class Listening(FakeEngine):
    """Each trial listens on every address until somebody has tried to connect."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer when somebody has tried."""
        result = super().run(request, watch)
        if not _is_trial(request):
            return result
        with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104 - as TensorFlow does
            (request.folder / "port.part").write_text(str(listener.getsockname()[1]))
            (request.folder / "port.part").replace(request.folder / "port.txt")
            while not (_out(request) / "tried").exists():
                time.sleep(0.05)
        return result


class Deadly(FakeEngine):
    """One configuration kills the whole process."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Die at some batch size, else answer."""
        if request.configuration.per_replica_batch == 128:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(request, watch)


class Filling(FakeEngine):
    """After two trials no file may grow any more, as on a full disk."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer twice, then try to write."""
        result = super().run(request, watch)
        if len(self.requests) > 2:
            _fill()
            (request.folder / "output.txt").write_bytes(b"x" * 100_000)
        return result


class Unsaved(FakeEngine):
    """Puts a folder where the result's program should be written."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer, once nothing can be saved."""
        if _is_trial(request):
            (_out(request) / "train.py").mkdir(exist_ok=True)
        return super().run(request, watch)


class Broken(FakeEngine):
    """Cannot start its processes."""

    def machine(self) -> Machine:
        """Fail."""
        raise EngineError(f"{Path.cwd()}/python cannot be started.")


class Unprintable(FakeEngine):
    """It says what the workload has said, which is not all text."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Say it."""
        del request, watch
        raise FactoryFailed("The file caf\udce9\0 is missing.", "x" * 100_000)


class Complaining(FakeEngine):
    """Finds the workload wrong."""

    def machine(self) -> Machine:
        """Fail."""
        raise FactoryFailed(f"{Path.cwd()}/examples/digits.py raised: no digits.")


def _is_trial(request: TrialRequest) -> bool:
    """Whether it is kept as a trial; what is run to explain the result is not."""
    return any(each.name == "trials" for each in request.folder.parents)


def _out(request: TrialRequest) -> Path:
    """Return the folder of the attempt."""
    return next(each.parent for each in request.folder.parents if each.name == "trials")


def _fill() -> None:
    """Let no file of this process grow beyond a few pages."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))


def quick() -> FakeEngine:
    """Return an engine that takes no time."""
    return FakeEngine(_speed)


def slow() -> FakeEngine:
    """Return an engine that takes a moment."""
    return Slow(_speed)


def brief() -> FakeEngine:
    """Return an engine with real processes for a moment."""
    return Brief(_speed)


def listening() -> FakeEngine:
    """Return an engine whose trials listen."""
    return Listening(_speed)


def sleepers() -> FakeEngine:
    """Return an engine with real processes."""
    return Sleepers(_speed)


def stubborn() -> FakeEngine:
    """Return an engine with real processes that cannot be interrupted."""
    return Stubborn(_speed)


def deadly() -> FakeEngine:
    """Return an engine that dies."""
    return Deadly(_speed)


def full() -> FakeEngine:
    """Return an engine on a disk that is full already."""
    _fill()
    return FakeEngine(_speed)


def filling() -> FakeEngine:
    """Return an engine whose disk gets full."""
    return Filling(_speed)


def unsaved() -> FakeEngine:
    """Return an engine after which no result can be saved."""
    return Unsaved(_speed)


def broken() -> FakeEngine:
    """Return an engine that does not work."""
    return Broken(_speed)


def complaining() -> FakeEngine:
    """Return an engine that dislikes the workload."""
    return Complaining(_speed)


def unprintable() -> FakeEngine:
    """Return an engine that says what no database keeps as a text."""
    return Unprintable(_speed)
