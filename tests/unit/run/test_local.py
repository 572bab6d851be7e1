"""What processes on this machine are told of their GPUs, and where their temporary files are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from autotune.cluster import Role
from autotune.run.local_host import environments_of
from autotune.run.scratch import Scratch


@pytest.mark.parametrize(
    ("allowed", "gpus", "told"),
    [
        (None, (1, 3), "1,3"),
        ("4,5,6,7", (1, 3), "5,7"),
        ("GPU-8932f937, GPU-1f5a2b3c", (1,), "GPU-1f5a2b3c"),
        ("2,3", (), ""),
    ],
)
def test_gpus_are_taken_from_those_that_are_allowed(
    monkeypatch: pytest.MonkeyPatch, allowed: str | None, gpus: tuple[int, ...], told: str
) -> None:
    """TensorFlow counts visible GPUs from 0; a process is told what CUDA calls them."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    (environment,) = environments_of((Role(gpus=gpus),), ("",))
    assert environment["CUDA_VISIBLE_DEVICES"] == told


def test_gpus_that_nobody_divides_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a machine without GPUs keeps the variable as it is."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (environment,) = environments_of((Role(),), ("",))
    assert "CUDA_VISIBLE_DEVICES" not in environment


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that nobody else uses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_the_killed_have_left_is_removed(temporary: Path) -> None:
    """By the next one; the folder of one that lives is left alone, and goes with its owner."""
    killed = "import os, autotune.run.scratch as s; s.Scratch(); os.kill(os.getpid(), 9)"
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
