"""What the engine locks, reads and leaves on its host, among real processes."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.engine import lock as module
from autotune.engine.load import MemoryGauge, read_counters
from autotune.engine.local import Scratch
from autotune.engine.lock import NAME, Holder, Wait, exclusive, flocked
from autotune.errors import Interrupted

HOLD = """
import sys, time
from pathlib import Path
from autotune.engine import lock
lock.PLACES = (Path(sys.argv[1]),)
with lock.exclusive("theirs:model_fn", print):
    print("held", flush=True)
    time.sleep(60)
"""
BURN = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.fixture(autouse=True)
def _own_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "PLACES", (tmp_path,))
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)


def signed(folder: Path) -> Holder:
    """Return who holds the machine, as it says itself."""
    with (folder / NAME).open() as opened:
        found = module._holder(opened.fileno())
    assert found
    return found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    call = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_second_waits_and_is_told_for_whom(
    tmp_path: Path, other: subprocess.Popen[str]
) -> None:
    """The kernel drops the lock of a process that was killed; then the next one goes on."""
    told: list[str] = []

    def tell(wait: Wait | str) -> None:
        told.append(str(wait))
        other.kill()

    since = signed(tmp_path).since
    with exclusive("mine", tell):
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

    with pytest.raises(Interrupted) as caught, exclusive("mine", tell):
        pytest.fail("the machine was taken")
    assert caught.value.exit_code == 130
    assert signed(tmp_path).what == "theirs:model_fn"


def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A notebook may leave processes behind that hold all of its open files."""
    with exclusive("mine", print):
        child = os.fork()
        if child == 0:
            signal.pause()
    try:
        with (tmp_path / NAME).open() as opened:
            assert flocked(opened.fileno())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_our_own_children_are_ours_even_when_they_have_ended() -> None:
    """Of a grandchild that is gone, its parents' account tells."""
    before = read_counters()
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert read_counters().own - before.own >= 0.3


def test_others_are_not_ours() -> None:
    """This process and its children are not among the others."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        others = {int(name.rpartition(" ")[2].rstrip(")")) for name in read_counters().others}
        child.kill()
    assert not others & {os.getpid(), child.pid}


def test_a_process_that_has_ended_holds_nothing() -> None:
    """Nor does what it has started."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    gauge = MemoryGauge(process.pid, 1)
    assert not gauge.exceeded()
    assert gauge.peak == 0


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_the_killed_have_left_is_removed(temporary: Path) -> None:
    """By the next one; the folder of one that lives is left alone, and goes with its owner."""
    killed = "import os, autotune.engine.local as s; kept = s.Scratch(); os.kill(os.getpid(), 9)"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", killed], env=environment, check=False)
    [left] = temporary.iterdir()
    mine, other = Scratch(), Scratch()
    assert {*temporary.iterdir()} == {mine.path, other.path}
    assert left not in (mine.path, other.path)
    mine.remove()
    mine.remove()
    del other
    assert not [*temporary.iterdir()]
