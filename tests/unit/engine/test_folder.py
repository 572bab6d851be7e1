"""The files of a trial, and temporary ones, also of processes that were killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.engine.folder import TrialFolder


def test_the_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert TrialFolder("t").script == tmp_path / "t" / "train.py"


def test_a_folder_is_for_one_trial(tmp_path: Path) -> None:
    """A folder that exists is refused, so that no trial reads the events of another."""
    with pytest.raises(FileExistsError):
        TrialFolder(tmp_path).create()
