"""The workers of a `PyDataset`, in a program and by themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import InspectionRequest
from tests.integration.engine.test_data import PROGRAMS, train, workload

pytestmark = pytest.mark.real
WHAT = ("alone", "threads", "others", "processes", "failing")
ENDINGS = ("out", "err", "status")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what each of the programs has printed, after one import of TensorFlow."""
    folder = tmp_path_factory.mktemp("workers")
    command = [sys.executable, PROGRAMS / "workers.py", *WHAT]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("what", WHAT)
def test_batches_are_made_by_its_workers(told: Path, what: str) -> None:
    """As many threads or processes as it says, in the order of one."""
    output, errors, status = ((told / f"{what}.{each}").read_text() for each in ENDINGS)
    assert status == "0", errors
    if what == "failing":
        assert "the third batch" in output.splitlines()[0]
        # A process tells by itself what went wrong in it.
        assert "the third batch" in errors


@pytest.mark.parametrize("data", ["by_python", "by_processes"])
def test_their_number_is_an_axis(engine: LocalEngine, tmp_path: Path, data: str) -> None:
    """The program that is timed has that many, of the dataset's own kind."""
    given = workload(data, "dense")
    facts = engine.execute(InspectionRequest(given))
    assert facts.py_dataset
    train(engine, given, facts, tmp_path / "t", py_dataset_workers=2)
