"""The files of a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.engine.folder import TrialFolder


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
