"""Ctrl-C, and going on afterwards."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from .conftest import DIGITS, Done, Run, counted

pytestmark = pytest.mark.real

Interrupted = tuple[Done, list[psutil.Process]]


@pytest.fixture(scope="module")
def interrupted(project: Path, command: Path) -> Iterator[Interrupted]:
    """A search that got Ctrl-C during its second trial, and the processes that it had then."""
    call = [command, "tune", *DIGITS, "--space", "quick", "--out", "stopped"]
    with subprocess.Popen(
        call, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        seen = ""
        while " measured " not in seen:
            line = process.stderr.readline()
            assert line, f"it ended by itself: {seen}"
            seen += line
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=300)
    yield subprocess.CompletedProcess(call, process.returncode, stdout, seen + stderr), family
    for each in family:
        if each.is_running():
            each.kill()


def test_it_says_that_it_was_interrupted(interrupted: Interrupted, project: Path) -> None:
    """The exit code is 130; what was found is printed and saved."""
    done, _ = interrupted
    assert done.returncode == 130
    assert "interrupted" in done.stdout
    assert "--resume" in done.stdout
    assert "Traceback" not in done.stderr
    names = {each.name for each in (project / "stopped").iterdir()}
    assert {"config.yaml", "train.py", "trials.csv", "trials.jsonl", "study.db"} <= names


def test_nothing_is_left_running(interrupted: Interrupted) -> None:
    _, family = interrupted
    assert family
    _, alive = psutil.wait_procs(family, timeout=120)
    assert alive == []


def test_resume_keeps_the_trials(interrupted: Interrupted, run: Run, project: Path) -> None:
    """The lines of the first search stay, and more come behind them."""
    done, _ = interrupted
    assert done.returncode == 130
    lines = project / "stopped/trials.jsonl"
    before = lines.read_text().splitlines()
    call = ("--space", "quick", "--out", "stopped", "--resume", "--no-diagnose")
    resumed = run("tune", *DIGITS, *call, *counted(3, 500))
    assert resumed.returncode == 0, resumed.stderr
    after = lines.read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) > len(before)
    assert "Train:" in resumed.stdout
