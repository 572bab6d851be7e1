"""The files of a trial, and temporary ones, also of processes that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autotune.engine.folder import Scratch, TrialFolder


def test_all_names_are_different_and_inside(tmp_path: Path) -> None:
    """No file of a trial stands for two things, or lies elsewhere."""
    folder = TrialFolder(tmp_path)
    names = [folder.script, folder.request, folder.answers(0), folder.pickled("model_fn")]
    names += [folder.events(0), folder.events(1), folder.output(0), folder.output(1)]
    assert len(set(names)) == len(names)
    assert {name.parent for name in names} == {tmp_path}


def test_the_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that works elsewhere finds the same files."""
    monkeypatch.chdir(tmp_path)
    assert TrialFolder("t").script == tmp_path / "t" / "train.py"


def test_a_folder_is_for_one_trial(tmp_path: Path) -> None:
    """A folder that exists is refused, so that no trial reads the events of another."""
    with pytest.raises(FileExistsError):
        TrialFolder(tmp_path).create()


def test_a_run_can_be_forgotten(tmp_path: Path) -> None:
    """The traces of processes go, what they were asked to do stays."""
    folder = TrialFolder(tmp_path / "t").create()
    for file in (folder.events(0), folder.output(1), folder.request):
        file.touch()
    folder.forget_run()
    assert list(folder.path.iterdir()) == [folder.request]


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
