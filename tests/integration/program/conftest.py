"""Runs the golden programs once for all tests of this folder, and others in one way."""

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from autotune.program import Program
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

Run = Callable[..., str]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the programs write, with a name that needs quoting."""
    return tmp_path_factory.mktemp("what they 'wrote'")


@pytest.fixture(scope="session")
def alone(folder: Path) -> Iterator[Run]:
    """Return a function that runs a program of one process, which imports nothing anew.

    It returns what was printed; `notes` are those of an order to run_programs.py. A program has to
    end with the `status`.
    """
    output = folder / "printed by the last one"
    command, pipe = [sys.executable, HERE / "run_programs.py"], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=HERE, env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True
    ) as forks:
        asked, answers = forks.stdin, forks.stdout
        assert asked
        assert answers

        def run(
            program: Path,
            *arguments: str | Path,
            cwd: Path = HERE,
            notes: dict[str, str] | None = None,
            status: int = 0,
            **variables: str,
        ) -> str:
            order = {
                "program": str(program),
                "arguments": [*map(str, arguments)],
                "cwd": str(cwd),
                "environment": {"CALLS": str(folder / "calls"), **variables},
                "output": str(output),
                **(notes or {}),
            }
            print(json.dumps(order), file=asked, flush=True)
            found, printed = int(answers.readline()), output.read_text()
            assert found == status, printed
            return printed

        yield run
        asked.close()


@pytest.fixture(scope="session")
def train(alone: Run) -> Run:
    def train(folder: Path, program: Program, *arguments: str | Path, **options: Any) -> str:
        file = deliver(folder / "train.py", program.train, program.launch)
        if program.launch is None:
            return alone(file, *arguments, **options)
        return start(folder, file, *arguments, **options)

    return train


@pytest.fixture(scope="session")
def done(folder: Path, alone: Run) -> dict[str, dict[str, Any]]:
    """Run every program that trains in one process, and return what each did, by its name."""
    found: dict[str, dict[str, Any]] = {}

    def run(name: str, program: str, *arguments: str | Path, **notes: str) -> None:
        file, result = folder / f"{program}.py", folder / f"{name}.json"
        deliver(file, golden_texts()[file.name])
        alone(file, *arguments, notes={"result": str(result), **notes})
        found[name] = json.loads(result.read_text())

    for name in ALONE:
        run(name, name, *STEPS, "--verbose", "0", "--save", folder / f"{name}.keras")
    for name, seed in {"by_value": "0", "again": "0", "other_seed": "1"}.items():
        data = str(HERE / "programs" / "toy.py")
        run(name, "by_value", *STEPS, "--seed", seed, data_of=data)
    run("help", "one_device", "--help")
    run("lone_worker", "workers_data", "--epochs", "1", "--steps-per-epoch", "4")
    run("lone_server", "servers_data")
    return found


@pytest.fixture(scope="session")
def gang(folder: Path) -> None:
    """Run a gang through its launcher."""
    own = folder / "workers_source"
    own.mkdir()
    texts = golden_texts()
    launch = deliver(own / "train.py", texts["workers_source.py"], texts["launch.py"])
    # More epochs than wanted: one worker ends the training in the second.
    start(own, launch, "--epochs", "9", *STEPS[2:], "--save", folder / "workers_source.keras")


def start(folder: Path, *command: str | Path, cwd: Path = HERE, **variables: str) -> str:
    result = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
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
    with zipfile.ZipFile(path) as archive:
        file = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    found: dict[str, np.ndarray] = {}

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and name.startswith("layers/"):
            found[name] = item[()]

    file.visititems(visit)
    return found


@pytest.fixture
def distance(folder: Path) -> Any:
    def between(one: str, other: str) -> float:
        first, second = (weights(folder / f"{name}.keras") for name in (one, other))
        assert first.keys() == second.keys() != set()
        return max(float(np.abs(first[name] - second[name]).max()) for name in first)

    return between
