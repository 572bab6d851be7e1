"""One search at a time on a machine, among processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.engine import lock as module
from autotune.engine.lock import NAME, Holder, Wait, exclusive
from autotune.errors import Interrupted

HOLD = """
import sys, time
from pathlib import Path
from autotune.engine.lock import exclusive
with exclusive("theirs:model_fn", print, [Path(sys.argv[1])]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    call = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def locked(file: Path) -> bool:
    with file.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_the_second_waits_and_is_told_for_whom(
    tmp_path: Path, other: subprocess.Popen[str]
) -> None:
    """The kernel drops the lock of a process that was killed; then the next one goes on."""
    told: list[str] = []

    def tell(wait: Wait | str) -> None:
        told.append(str(wait))
        other.kill()

    since = Holder.model_validate_json((tmp_path / NAME).read_text()).since
    with exclusive("mine", tell, [tmp_path]):
        assert other.wait() == -signal.SIGKILL
    assert len(told) == 1
    began = time.strftime("%H:%M", time.localtime(since))
    assert told[0].startswith(f"Another search (process {other.pid}, started {began}")
    assert told[0].endswith(
        "theirs:model_fn) is running on this machine; waiting for it to finish."
    )


@pytest.mark.usefixtures("other")
def test_who_waits_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now and then, so that nobody takes it for dead; Ctrl-C ends it as an interruption."""
    monkeypatch.setattr(module, "REMIND_SECONDS", 0.05)
    told: list[str] = []

    def tell(wait: Wait | str) -> None:
        told.append(str(wait))
        if len(told) == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted) as caught, exclusive("mine", tell, [tmp_path]):
        pytest.fail("the machine was taken")
    assert caught.value.exit_code == 130
    assert Holder.model_validate_json((tmp_path / NAME).read_text()).what == "theirs:model_fn"


def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A notebook may leave processes behind that hold all of its open files."""
    with exclusive("mine", print, [tmp_path]):
        child = os.fork()
        if child == 0:
            signal.pause()
    try:
        assert not locked(tmp_path / NAME)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
