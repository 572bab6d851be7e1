"""Whether `autotune verify` refutes only what ran, on engines that take no time."""

import shutil
from pathlib import Path

import pytest

from .conftest import Done, Run

SCRIPT = "import keras\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(x, y)\n"
FUNCTIONS = "def model_fn(): ...\ndef dataset_fn(): ...\n"
OUT = Path("runs/today/out")


@pytest.fixture(
    scope="module",
    params=[("train.py",), ("lib/mine.py:model_fn", "lib/mine.py:dataset_fn")],
    ids=["script", "functions"],
)
def home(
    request: pytest.FixtureRequest, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a script or a module, and what a search of it has left further below."""
    home = tmp_path_factory.mktemp("my project")
    (home / "lib").mkdir()
    name = request.param[0].partition(":")[0]
    (home / name).write_text(SCRIPT if name == "train.py" else FUNCTIONS)
    limits = ("--max-trials", "3", "--engine", "failing:reads", "--out", OUT)
    done = run("tune", *request.param, *limits, folder=home)
    assert done.returncode == 0, done.stderr
    return home


def verify(run: Run, home: Path, engine: str, folder: Path) -> Done:
    return run("verify", home / OUT, "--engine", f"failing:{engine}", folder=folder)


def test_it_runs_from_another_folder(run: Run, home: Path, tmp_path: Path) -> None:
    """The script or the modules are found above the result, as a job of CI needs it."""
    done = verify(run, home, "reads", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("Confirmed", "Inconclusive"))


def test_what_is_not_there_is_not_refuted(run: Run, home: Path, tmp_path: Path) -> None:
    """It says which file is missing, and ends with 3; the program is not taken for the script."""
    shutil.copytree(home / OUT, tmp_path / OUT)
    done = verify(run, tmp_path, "reads", tmp_path)
    assert done.returncode == 3, done.stderr
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert cause.startswith("Error: Not verified: ")
    assert ("train.py" if (home / "train.py").exists() else "mine") in cause
    assert next_step.endswith(".")
