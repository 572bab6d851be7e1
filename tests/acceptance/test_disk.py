"""A disk that fills while a search runs: nothing measured is lost."""

from pathlib import Path

from .conftest import DIGITS, Run


def test_what_was_measured_before_the_disk_filled_is_printed(run: Run, project: Path) -> None:
    """The program, too, as it was not written; the disk is named at the end."""
    limits = ("--space", "quick", "--max-trials", "4", "--out", "full")
    done = run("tune", *DIGITS, *limits, "--engine", "playing:Filling")
    assert done.returncode == 2
    assert "bug in autotune" not in done.stderr
    assert "def main(" in done.stdout
    assert "full/train.py" not in done.stdout
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert "full" in cause
    assert "File too large" in cause
    assert "--resume" in next_step
    assert not (project / "full" / "train.py").exists()
