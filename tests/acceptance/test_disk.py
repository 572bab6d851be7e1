"""A disk that fills, or a folder that goes, while a search runs: nothing measured is lost."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import DIGITS, Done, Run


def search(run: Run, engine: str, out: str, *more: str) -> Done:
    limits = ("--space", "quick", "--max-trials", "4", "--no-diagnose")
    return run("tune", *DIGITS, *limits, "--engine", f"playing:{engine}", "--out", out, *more)


def test_what_was_measured_before_the_disk_filled_is_printed(run: Run, project: Path) -> None:
    """The program, too, as it was not written; the disk is named at the end."""
    done = search(run, "Filling", "full")
    assert done.returncode == 2
    assert "bug in autotune" not in done.stderr
    assert "def main(" in done.stdout
    assert "out/train.py" not in done.stdout
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert "full" in cause
    assert "File too large" in cause
    assert "--resume" in next_step
    assert not (project / "full" / "train.py").exists()


def test_a_folder_that_is_removed_is_made_again(run: Run, project: Path) -> None:
    """It takes all files of the result then."""
    done = search(run, "Removing", "removed", "--json")
    assert done.returncode == 0, done.stderr
    assert (project / "removed" / "train.py").read_text() == json.loads(done.stdout)["script"]
