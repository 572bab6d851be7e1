"""Knowing processes, and ending the right ones."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from autotune.api.work import processes
from autotune.api.work.processes import MARKER

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries a marker."""
    process = subprocess.Popen([sys.executable, "-c", SLEEP], env={MARKER: "mine"})
    yield process
    process.kill()
    process.wait()


def test_a_process_is_known_by_its_start(sleeper: subprocess.Popen[bytes]) -> None:
    """The same process is the same, one that is gone is none."""
    first = processes.identity(sleeper.pid)
    assert first is not None
    assert processes.identity(sleeper.pid) == first
    sleeper.kill()
    sleeper.wait()
    assert processes.identity(sleeper.pid) is None


def test_another_process_of_the_same_number_is_spared(sleeper: subprocess.Popen[bytes]) -> None:
    """A number that was recorded long ago may be anybody's today."""
    born = processes.identity(sleeper.pid)
    assert born is not None
    assert processes.recorded(born.model_copy(update={"started": born.started - 1})) == []
    assert sleeper.poll() is None
    (found,) = processes.recorded(born)
    found.kill()
    assert sleeper.wait(60) == -9


def test_a_process_dies_with_its_parent() -> None:
    """The kernel ends it, even if the parent could not."""
    child = (
        "import os, sys, time; from autotune.api.work.processes import die_with; "
        "die_with(int(sys.argv[1])); print(os.getpid(), flush=True); time.sleep(60)"
    )
    parent = (
        "import os, subprocess, sys; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())]).wait()"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE)
    assert process.stdout is not None
    born = processes.identity(int(process.stdout.readline()))
    process.kill()
    process.communicate()
    assert born is not None
    deadline = time.monotonic() + 60
    while processes.identity(born.pid) == born:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_whose_parent_is_gone_already_ends_itself() -> None:
    """There is no moment in which it could be missed."""
    code = "from autotune.api.work.processes import die_with; die_with(1); print('alive')"
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (ran.returncode, ran.stdout) == (1, b"")
