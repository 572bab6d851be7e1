"""Runs the golden programs once for all tests of this folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.golden import deliver, golden_texts

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
HANGS = 800
"""Seconds after which a program hangs rather than being slow."""
STEPS = ["--epochs", "2", "--steps-per-epoch", "8"]

ALONE = [
    *("one_device", "one_device_all_options", "one_device_custom", "mixed_bfloat16"),
    *("batch_size", "arguments", "mirrored_fit", "mirrored_loop", "mirrored_loop_unbuilt"),
    *("cache_in_file", "cache_handed", "cache_shuffled"),
]
"""Programs that train in one process."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the programs write, with a name that needs quoting."""
    return tmp_path_factory.mktemp("what they 'wrote'")


@pytest.fixture(scope="session")
def done(folder: Path) -> dict[str, dict[str, Any]]:
    """Run every program that trains in one process, and return what each did, by its name."""
    jobs = {name: job(folder, name, *STEPS, "--verbose", "0", save=True) for name in ALONE}
    for name, seed in {"by_value": "0", "again": "0", "other_seed": "1"}.items():
        jobs[name] = job(folder, "by_value", *STEPS, "--seed", seed)
        jobs[name]["data_of"] = str(HERE / "programs" / "toy.py")
    jobs["not_filled_in"] = job(folder, "by_value")
    jobs["help"] = job(folder, "one_device", "--help")
    jobs["lone_worker"] = job(folder, "workers_data", "--epochs", "1", "--steps-per-epoch", "4")
    jobs["lone_server"] = job(folder, "servers_data")
    jobs["whole_epoch"] = job(folder, "one_device", "--epochs", "1")
    for name, each in jobs.items():
        each["result"] = str(folder / f"{name}.json")
    orders = "\n".join(map(json.dumps, jobs.values()))
    start(folder, HERE / "run_programs.py", orders=orders)
    results = {name: Path(each["result"]) for name, each in jobs.items()}
    return {name: json.loads(path.read_text()) for name, path in results.items() if path.exists()}


@pytest.fixture(scope="session")
def gangs(folder: Path) -> dict[str, str]:
    """Run both gangs through their launchers, and return what each printed."""
    return {
        "workers_data": gang(folder, "workers_data", *STEPS),
        # More epochs than wanted: one worker ends the training in the second.
        "workers_source": gang(folder, "workers_source", "--epochs", "9", *STEPS[2:]),
    }


@pytest.fixture(scope="session")
def served(folder: Path) -> dict[str, str]:
    """Run both clusters with parameter servers, and return what each printed."""
    names = ("servers_data", "servers_source")
    return {name: gang(folder, name, *STEPS, launcher="launch_servers") for name in names}


def job(folder: Path, name: str, *arguments: str, save: bool = False) -> dict[str, Any]:
    """Return the order to run a program in a fork."""
    saved = ["--save", str(folder / f"{name}.keras")] if save else []
    program = folder / f"{name}.py"
    deliver(program, golden_texts()[program.name])
    return {"program": str(program), "arguments": [*arguments, *saved]}


def gang(folder: Path, name: str, *arguments: str, launcher: str = "launch") -> str:
    own = folder / name
    own.mkdir()
    texts = golden_texts()
    launch = deliver(own / "train.py", texts[f"{name}.py"], texts[f"{launcher}.py"])
    return start(own, launch, *arguments, "--save", folder / f"{name}.keras")


def start(
    folder: Path, *command: str | Path, cwd: Path = HERE, orders: str = "", **variables: str
) -> str:
    """Run a Python program, and return what it printed."""
    result = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        input=orders or None,
        env={**ENVIRONMENT, "CALLS": str(folder / "calls"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def weights(path: Path) -> dict[str, np.ndarray]:
    """Return the trained weights in a saved model, by their names."""
    with zipfile.ZipFile(path) as archive:
        file = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    found: dict[str, np.ndarray] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and name.startswith("layers/"):
            found[name] = item[()]

    file.visititems(visit)
    return found


@pytest.fixture
def learned(folder: Path) -> Any:
    return lambda name: weights(folder / f"{name}.keras")


@pytest.fixture
def distance(folder: Path) -> Any:
    """Return the largest difference between the weights that two programs saved."""

    def between(one: str, other: str) -> float:
        first, second = (weights(folder / f"{name}.keras") for name in (one, other))
        assert first.keys() == second.keys() != set()
        return max(float(np.abs(first[name] - second[name]).max()) for name in first)

    return between
