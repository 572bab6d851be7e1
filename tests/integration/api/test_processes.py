"""Knowing processes, and ending the right ones."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from autotune.api.work import processes
from autotune.api.work.processes import MARKER

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SLEEP], env={MARKER: "mine"})
    yield process
    process.kill()
    process.wait()


def test_another_process_of_the_same_number_is_spared(sleeper: subprocess.Popen[bytes]) -> None:
    pid, started = processes.identity(sleeper.pid)
    assert processes.left("another", pid, started - 1) == []
    assert processes.left("another", None, None) == []
    (found,) = processes.left("another", pid, started)
    found.kill()
    assert sleeper.wait(60) == -9
