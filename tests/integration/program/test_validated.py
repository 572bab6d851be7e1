"""A dataset factory that returns data for the validation has it validated with."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.workload import Returned, Workload, WorkloadFacts
from tests.golden import CPUS, MIRRORED, ONE, SERVED, TWO_WORKERS, deliver, imported

from .conftest import HERE, start

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

WORKLOAD = Workload(model=imported("model_fn"), dataset=imported("held_out"))
FACTS = WorkloadFacts(examples=64, returned=Returned(beside=True))
OTHERS = {
    "fit": MIRRORED.but(reduction="one_device"),
    "loop": MIRRORED.but(steps_per_execution=4),
    "workers": TWO_WORKERS.but(shard_policy="data"),
}


def history(folder: Path, configuration: Configuration, *arguments: str) -> list[dict[str, float]]:
    """Return the figures of each epoch that a program writes."""
    folder.mkdir()
    program = render(configuration, WORKLOAD, FACTS, CPUS)
    file, written = deliver(folder / "train.py", program.train, program.launch), folder / "h.csv"
    start(folder, file, "--epochs", "2", "--history", written, *arguments, cwd=HERE)
    with written.open() as rows:
        every = csv.DictReader(rows)
        # Keras writes columns for a validation that there was none of.
        return [{n: float(row[n]) for n in row if row[n] != "NA"} for row in every]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, float]]:
    return history(tmp_path_factory.mktemp("alone") / "one", ONE)


@pytest.mark.parametrize("name", OTHERS)
def test_replicas_validate_as_one_device_does(
    tmp_path: Path, alone: list[dict[str, float]], name: str
) -> None:
    """On all of the data, which fill no batch."""
    assert {"val_loss", "val_accuracy"} < alone[-1].keys()
    found = history(tmp_path / name, OTHERS[name])
    assert len(found) == len(alone)
    for one, other in zip(alone, found, strict=True):
        assert other == pytest.approx(one, rel=1e-3, abs=1e-4)


def test_parameter_servers_validate_in_the_chief(tmp_path: Path) -> None:
    found = history(tmp_path / "served", SERVED)
    assert all(0 <= each["val_accuracy"] <= 1 and each["val_loss"] > 0 for each in found)


def test_validation_may_be_left_out(tmp_path: Path) -> None:
    assert "val_loss" not in history(tmp_path / "train", ONE, "--no-validation")[0]
