"""Searches of programs as people bring them. Nothing here depends on how fast anything was."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.running import python

from .conftest import FIELD, Run, counted

pytestmark = pytest.mark.real

CELLS = (
    "%matplotlib inline\n!ls \\\n  -l\nimport keras, numpy as np",
    "%%bash\nexit 1",
    "x, y = np.ones((400, 8), 'float32'), np.ones((400, 1))\nopen('rows.txt', 'a').write('x')",
    "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])",
    "def end(epoch, logs):\n    model.stop_training = logs['val_loss'] < 9",
    "model.compile('sgd', 'mse')",
    "asked = {'callbacks': [keras.callbacks.LambdaCallback(on_epoch_end=end)]}",
    "%%time\nhistory = model.fit(x, y, 40, validation_split=0.1, verbose=0, **asked)",
    "display('Best %s'\n        % 'loss:', min(history.history['loss']))",
)
NO_CHOICE = (
    *("--space", "quick", "--strategies", "one_device"),
    *("--objective", "max_throughput"),
)
TWO_WORKERS = """
strategies: [one_device, multi_worker_mirrored]
axes:
  per_replica_batch: [8, 16]
  steps_per_execution: [32]
  workers: [2]
  shard_policy: [data]
"""
Tuned = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs, among them a notebook."""
    folder = Path(shutil.copytree(FIELD, tmp_path_factory.mktemp("my scripts") / "scripts"))
    cells = [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in CELLS]
    (folder / "train.ipynb").write_text(json.dumps({"cells": cells}))
    (folder / "two_workers.yaml").write_text(TWO_WORKERS)
    return folder


@pytest.fixture(scope="module")
def tuned(run: Run, folder: Path) -> Tuned:
    """Searches a program of the folder; returns the result, and with it what was on stderr."""

    def tuned(name: str, *asked: str) -> dict[str, Any]:
        out = ("--json", "--out", folder / f"out-{name}")
        done = run("tune", folder / name, *out, *asked)
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), "stderr": " ".join(done.stderr.split())}

    return tuned


def test_its_strategy_gives_way_and_its_epochs_stay(tuned: Tuned, folder: Path) -> None:
    """Two workers are tried although it validates; the program makes the 3 epochs of 63 steps."""
    asked = ("--space", str(folder / "two_workers.yaml"), "--global-batch", "16")
    found = tuned("strategy_of_its_own.py", *asked, *counted(4, 1000), "--", "3")
    assert "MirroredStrategy in line 11 is taken out" in found["stderr"]
    workers = {each["configuration"]["workers"]: each["outcome"] for each in found["trials"]}
    assert workers[1] == "measured"
    assert workers[2] in ("measured", "pruned")
    assert found["facts"]["fit"]["own_strategy"]["title"] == "MirroredStrategy"
    program = "launch.py" if found["configuration"]["workers"] > 1 else "train.py"
    python(folder, folder / "out-strategy_of_its_own.py" / program)
    trained = json.loads((folder / "found.json").read_text())
    assert trained == {"updates": 3 * 63, "validated": 3, "evaluated": 2}


def test_the_plan_tells_what_a_cache_of_the_script_freezes(run: Run) -> None:
    """Its pictures are flipped before the cache: the stage is named, and nothing is searched."""
    plan = run("tune", FIELD / "doctor" / "augmented_before_cache.py", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    said = " ".join((plan.stdout + plan.stderr).split())
    assert "a cache of its own after a random stage (Map), so every epoch gets" in said
    assert "dataset_fn keeps" not in said


def test_a_notebook_is_tuned_and_its_program_runs_to_the_end(tuned: Tuned, folder: Path) -> None:
    """Trials write nothing, and the program goes on."""
    found = tuned("train.ipynb", *NO_CHOICE, *counted(1, 400))
    assert not (folder / "rows.txt").exists()
    steps = found["configuration"]["steps_per_execution"]
    shortly = ("--epochs", "1", "--steps-per-epoch", str(steps))
    assert "Best loss:" in python(folder, folder / "out-train.ipynb" / "train.py", *shortly)


def test_what_is_said_of_a_script_is_what_it_does(run: Run) -> None:
    """Its step is made by two Adams and no loss of compile's, and nobody speaks of a dataset_fn."""
    done = run("tune", FIELD / "two_optimizers.py", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert (facts["optimizer"], facts["loss"]) == ("Adam", "")
    assert facts["first_step_seconds"] > 0
    assert "_fn" not in done.stdout + done.stderr
