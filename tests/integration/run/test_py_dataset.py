"""The workers of a `PyDataset`, in a program and by themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autotune.run.local import LocalEngine
from tests.integration.run.test_data import PROGRAMS, train, workload

pytestmark = pytest.mark.real


@pytest.mark.parametrize("what", ["alone", "threads", "others", "processes", "failing"])
def test_batches_are_made_by_its_workers(what: str) -> None:
    """As many threads or processes as it says, in the order of one."""
    done = subprocess.run(
        [sys.executable, PROGRAMS / "workers.py", what],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    if what == "failing":
        assert "the third batch" in done.stdout.splitlines()[0]
        # A process tells by itself what went wrong in it.
        assert "the third batch" in done.stderr


@pytest.mark.parametrize("data", ["by_python", "by_processes"])
def test_their_number_is_an_axis(engine: LocalEngine, tmp_path: Path, data: str) -> None:
    """The program that is timed has that many, of the dataset's own kind."""
    given = workload(data, "dense")
    facts = engine.inspect(given)
    assert facts.py_dataset
    train(engine, given, facts, tmp_path / "t", py_dataset_workers=2)
