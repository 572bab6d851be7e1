"""Engines for workers of the tests; the settings name them."""

# ruff: noqa: N801 - as the settings name functions

import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks import TrialRequest
from autotune.errors import EngineError, FactoryFailed
from autotune.machine import Machine
from autotune.reason import Message, Outcome
from tests.engines.fake import FakeEngine

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


class quick(FakeEngine):
    def __init__(self) -> None:
        super().__init__(_speed)


class sleepers(quick):
    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        del request, watch
        own = [_sleeper() for _ in range(3)]
        while all(each.poll() is None for each in own):
            time.sleep(0.05)
        raise AssertionError("a sleeper ended")


class stubborn(sleepers):
    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        while True:
            try:
                return super().run(request, watch)
            except KeyboardInterrupt:
                continue


class slow(quick):
    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        time.sleep(0.3)
        return super().run(request, watch)


class brief(quick):
    """Each trial has two real processes for a moment, and crashes if one of them dies."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        ranks = [_sleeper("-I", "-S") for _ in range(2)]
        try:
            time.sleep(0.25)
            died = any(each.poll() is not None for each in ranks)
        finally:
            for each in ranks:
                each.kill()
                each.wait()
        return _DIED if died else super().run(request, watch)


class listening(quick):
    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        result = super().run(request, watch)
        if not _is_trial(request):
            return result
        with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104 - as TensorFlow does
            (request.folder / "port.part").write_text(str(listener.getsockname()[1]))
            (request.folder / "port.part").replace(request.folder / "port.txt")
            while not (_out(request) / "tried").exists():
                time.sleep(0.05)
        return result


class filling(quick):
    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        result = super().run(request, watch)
        if len(self.requests) > 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
            (request.folder / "output.txt").write_bytes(b"x" * 100_000)
        return result


class broken(quick):
    def machine(self) -> Machine:
        raise EngineError(f"{Path.cwd()}/python cannot be started.")


class complaining(quick):
    def machine(self) -> Machine:
        raise FactoryFailed(f"{Path.cwd()}/examples/digits.py raised: no digits.")


def _is_trial(request: TrialRequest) -> bool:
    return any(each.name == "trials" for each in request.folder.parents)


def _out(request: TrialRequest) -> Path:
    return next(each.parent for each in request.folder.parents if each.name == "trials")
