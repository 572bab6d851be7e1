"""A disk that is full, or goes: told at once, or named later, and nothing measured is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import DIGITS, Done, Run
from .playing import limit_files

Search = Callable[..., Done]
LIMITS = ("--space", "quick", "--max-trials", "4", "--no-diagnose")


@pytest.fixture
def search(run: Run) -> Search:
    """Runs a search on an engine that only plays its trials."""

    def search(engine: str, out: str, *more: str, largest: int | None = None) -> Done:
        call = ("tune", *DIGITS, *LIMITS, "--engine", f"playing:{engine}", "--out", out)
        return run(*call, *more, preexec=largest and (lambda: limit_files(largest)))

    return search


def test_too_little_room_is_told_before_anything_runs(search: Search) -> None:
    """In two sentences that name folder and cause."""
    done = search("Playing", "no-room", largest=50_000)
    assert done.returncode == 2
    assert done.stdout == ""
    cause, next_step = done.stderr.strip().splitlines()
    assert "no-room does not take 0.2 MB more" in cause
    assert "--out" in next_step


def test_what_was_measured_before_the_disk_filled_is_printed(search: Search, project: Path) -> None:
    """The program, too, as it was not written; the disk is named at the end."""
    done = search("Filling", "full")
    assert done.returncode == 2
    assert "bug in autotune" not in done.stderr
    assert "def main(" in done.stdout
    assert "out/train.py" not in done.stdout
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert "full" in cause
    assert "File too large" in cause
    assert "--resume" in next_step
    assert not (project / "full" / "train.py").exists()


def test_a_folder_that_is_removed_is_made_again(search: Search, project: Path) -> None:
    """It takes all files of the result then."""
    done = search("Removing", "removed", "--json")
    assert done.returncode == 0, done.stderr
    assert (project / "removed" / "train.py").read_text() == json.loads(done.stdout)["script"]


def test_a_disk_that_becomes_read_only_ends_the_search(search: Search, project: Path) -> None:
    """With the two trials that were measured, and with every file that can still be written."""
    done = search("Closing", "closed", "--json")
    assert done.returncode == 2, done.stderr
    assert "Read-only file system" in done.stderr.strip().splitlines()[-2]
    told = json.loads(done.stdout)
    assert len(told["trials"]) == 2
    assert told["unsaved"]["files"] == []
    assert (project / "closed" / "train.py").read_text() == told["script"]
