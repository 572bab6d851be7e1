"""A script and a notebook from the command to the program that is handed over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import EXAMPLES, Run, counted, train

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


SPACE = ("--space", "quick", "--strategies", "one_device", "--objective", "max_throughput")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script and a notebook."""
    folder = tmp_path_factory.mktemp("my scripts")
    shutil.copy(EXAMPLES / "whole_script.py", folder / "train.py")
    cells = [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in CELLS]
    (folder / "train.ipynb").write_text(json.dumps({"cells": cells}))
    return folder


@pytest.mark.parametrize(
    ("script", "arguments", "batch", "printed"),
    [
        ("train.py", ["--", "--units", "16"], 64, "Best accuracy:"),
        ("train.ipynb", [], 40, "Best loss:"),
    ],
)
def test_a_script_is_tuned_and_its_program_runs_to_the_end(
    run: Run, folder: Path, script: str, arguments: list[str], batch: int, printed: str
) -> None:
    """The script's own batch is tried first, trials write nothing, and the program goes on."""
    out = folder / f"out-{script}"
    asked = ("--no-diagnose", "--json", "--out", out, *arguments)
    done = run("tune", folder / script, *SPACE, *counted(1, 400), *asked)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["trials"][0]["configuration"]["per_replica_batch"] == batch
    assert not (folder / "rows.txt").exists()
    steps = read["configuration"]["steps_per_execution"]
    shortly = ("--epochs", "1", "--steps-per-epoch", str(steps))
    assert printed in train(out / "train.py", folder, *shortly)
