"""Nothing of a trial is left, whatever happens to it, to the tuner or to the fork server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from autotune.engine import fork_client
from autotune.engine.base import Limits
from autotune.engine.fork_client import ForkClient
from autotune.engine.local import LocalEngine
from autotune.errors import EngineError
from autotune.reason import Outcome, PlainReason, ReasonKind
from tests.trials import request_for, stop_at_once, text_of
from tests.waiting import until

pytestmark = pytest.mark.real

GENEROUS = 300.0
TUNER = """
import sys
from pathlib import Path
from autotune.engine.local import LocalEngine
from tests.trials import request_for

with LocalEngine() as engine:
    engine.execute(request_for("family", Path(sys.argv[1])))
"""


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids_in(folder: Path) -> list[int]:
    file = folder / "pids.txt"
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


@pytest.fixture
def tuner(tmp_path: Path) -> subprocess.Popen[bytes]:
    """Start a tuner as a program of its own, and wait until its trial has a family."""
    process = subprocess.Popen(
        [sys.executable, "-c", TUNER, str(tmp_path / "trial")],
        cwd=Path(__file__).parents[3],
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    until(lambda: len(pids_in(tmp_path / "trial")) == 3)
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_death_of_the_tuner_ends_all(
    tuner: subprocess.Popen[bytes], tmp_path: Path, number: signal.Signals
) -> None:
    """A tuner that is killed, in whatever way, leaves no process behind."""
    family = psutil.Process(tuner.pid).children(recursive=True)
    os.kill(tuner.pid, number)
    tuner.communicate(timeout=GENEROUS)
    assert len(family) >= 3
    until(lambda: not any(lives(process.pid) for process in family))
    until(lambda: not any(lives(pid) for pid in pids_in(tmp_path / "trial")))


def test_what_a_trial_starts_ends_with_it(engine: LocalEngine, tmp_path: Path) -> None:
    """Also a grandchild in a session of its own, and though all ignore SIGTERM; a stack is told."""
    ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    program = text_of("family").replace("del argv", ignores)
    result = engine.execute(
        request_for(program, tmp_path / "t", limits=Limits(first_step=1)), stop_at_once
    )
    assert result.outcome is Outcome.HUNG
    assert "train.py" in result.detail
    assert len(pids_in(tmp_path / "t")) == 3
    assert not any(lives(pid) for pid in pids_in(tmp_path / "t"))


def test_the_death_of_the_fork_server_is_a_crash(engine: LocalEngine, tmp_path: Path) -> None:
    program = text_of("family").replace("near.wait()", "os.kill(os.getppid(), 9), near.wait()")
    result = engine.execute(request_for(program, tmp_path / "one"), stop_at_once)
    assert result.outcome is Outcome.CRASHED
    assert result.reason == PlainReason(kind=ReasonKind.ORPHANED)
    child, near, far = pids_in(tmp_path / "one")
    os.kill(far, signal.SIGKILL)  # Nobody can know of it any more.
    assert not lives(child)
    until(lambda: not lives(near))
    again = engine.execute(request_for("ticks", tmp_path / "two"), stop_at_once)
    assert again.outcome is Outcome.MEASURED


def test_a_fork_server_that_is_killed_early_is_replaced() -> None:
    """Somebody may have meant another process."""
    with LocalEngine() as engine:
        engine.start().process.kill()
        assert engine.machine().cpus >= 1


def test_a_fork_server_that_is_always_killed_is_given_up(tmp_path: Path) -> None:
    """The error says so, and not that TensorFlow is broken."""
    (tmp_path / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 9)")
    with (
        LocalEngine({"PYTHONPATH": str(tmp_path)}) as engine,
        pytest.raises(EngineError, match="killed 3 times"),
    ):
        engine.machine()


SERVER = """
import sys
from multiprocessing.connection import Connection
channel = Connection(int(sys.argv[2]))
channel.recv()
channel.send({"pid": 7})
channel.send({"exited": 7, "status": 512})
channel.recv()
"""
"""Answers the first order by a child that is gone at once."""


def test_a_child_that_is_gone_at_once_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_client, "_PROGRAM", SERVER)
    client = ForkClient({})
    try:
        assert client.fork({}) == 7
        while not client.exits:
            client.listen(0.1)
        assert client.exits == {7: 512}
    finally:
        client.close()
