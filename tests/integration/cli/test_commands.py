"""The commands, and the parts of `autotune serve`, in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.cli import serve
from autotune.cli.serve import Part
from tests.waiting import until


def test_a_terminal_without_unicode_loses_a_character_and_no_result() -> None:
    code = "from autotune.cli import commands as cli; cli.app = lambda: print('12 ±4%'); cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"12 ?4%\n"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda text: monkeypatch.setattr(serve, "_PROGRAM", text)


def test_a_part_that_cannot_run_ends_all(program: Callable[[str], None]) -> None:
    """Its exit code is the service's."""
    program("raise SystemExit(2)")
    part = Part("API", ())
    codes: list[int | None] = []
    until(lambda: codes.append(part.exit_code()) or codes[-1] is not None)
    assert codes[-1] == 2


def test_a_part_that_does_not_end_is_killed(program: Callable[[str], None], tmp_path: Path) -> None:
    deaf = tmp_path / "deaf"
    program(
        "import pathlib, signal, time; signal.signal(15, signal.SIG_IGN); "
        f"pathlib.Path({os.fspath(deaf)!r}).touch(); time.sleep(60)"
    )
    part = Part("worker", ())
    until(deaf.exists)
    part.ask_to_end()
    part.end(0.1)
    assert part._process.returncode == -9
