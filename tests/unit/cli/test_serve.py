"""What `autotune serve` refuses, and how it keeps its parts."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable

import pytest
from typer.testing import Result

from autotune.cli import supervised
from autotune.cli.supervised import Kept, Part

Run = Callable[..., Result]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104
def test_a_service_without_keys_is_for_this_machine_only(run: Run, host: str) -> None:
    """Everybody who can reach it could do everything."""
    done = run("serve", "api", "--no-keys", "--host", host)
    assert done.exit_code == 2
    assert "loopback" in done.stderr


def test_a_port_that_is_taken_is_told(run: Run) -> None:
    """The message names it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "api", "--port", port)
    assert done.exit_code == 2
    assert str(port) in done.stderr


def test_wrong_settings_are_told(run: Run) -> None:
    """The service does not start."""
    done = run("serve", "api", "--settings", "nosuch.toml")
    assert done.exit_code == 2


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces what a part runs."""
    return lambda text: monkeypatch.setattr(supervised, "_PROGRAM", text)


def until(look: Callable[[], bool]) -> None:
    """Wait at most ten seconds."""
    deadline = time.monotonic() + 10
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_part_that_dies_is_started_again(
    program: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a pause, and it is told."""
    monkeypatch.setattr(supervised, "SHORTEST_PAUSE", 0.05)
    program("import time; time.sleep(60)")
    said: list[str] = []
    kept = Kept(Part(name="worker", command=()), said.append)
    first = kept._process
    first.kill()
    until(lambda: kept.look() is None and kept._process is not first)
    assert said == ["The worker was ended by signal 9; it is started again."]
    kept.ask_to_end()
    kept.end(5)
    assert kept._process.returncode == -15


def test_a_part_that_cannot_run_ends_all(program: Callable[[str], None]) -> None:
    """Its exit code is the service's."""
    program("raise SystemExit(2)")
    kept = Kept(Part(name="API", command=()), print)
    codes: list[int | None] = []
    until(lambda: codes.append(kept.look()) or codes[-1] is not None)  # type: ignore[func-returns-value]
    assert codes[-1] == 2


def test_a_part_that_does_not_end_is_killed(program: Callable[[str], None]) -> None:
    """Nothing is left."""
    program(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    kept = Kept(Part(name="worker", command=()), print)
    kept.ask_to_end()
    kept.end(0.1)
    assert kept._process.returncode in {-9, -15}
    assert sys.executable
