"""The files of a trial, and temporary ones, also of processes that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autotune.engine.folder import Scratch, TrialFolder


def test_the_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that works elsewhere finds the same files."""
    monkeypatch.chdir(tmp_path)
    assert TrialFolder("t").script == tmp_path / "t" / "train.py"


def test_a_folder_is_for_one_trial(tmp_path: Path) -> None:
    """A folder that exists is refused, so that no trial reads the events of another."""
    with pytest.raises(FileExistsError):
        TrialFolder(tmp_path).create()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_the_killed_have_left_is_removed(temporary: Path) -> None:
    """By the next one; the folder of one that lives is left alone, and goes with its owner."""
    killed = "import os, autotune.engine.folder as s; kept = s.Scratch(); os.kill(os.getpid(), 9)"
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
