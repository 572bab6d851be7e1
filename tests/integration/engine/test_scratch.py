"""Temporary files of this machine's processes, also of those that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autotune.engine.folder import Scratch


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
