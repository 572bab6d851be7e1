"""What a search delivers of a script trains as much as that, and can be stopped."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.waiting import until

from .conftest import COMMAND, FIELD, Run, counted

pytestmark = pytest.mark.real

SPACE = "strategies: [one_device]\naxes: {per_replica_batch: [32], steps_per_execution: [1, 32]}\n"


@pytest.fixture(scope="module")
def folder(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script of 40 steps an epoch and two epochs, of which 32 were tuned to make a call."""
    folder = tmp_path_factory.mktemp("forty")
    shutil.copy(FIELD / "forty_steps.py", folder)
    (folder / "space.yaml").write_text(SPACE)
    asked = ("--out", folder / "out", "--space", folder / "space.yaml", *counted(2, 900))
    learned = ("--objective", "max_throughput")
    done = run("tune", folder / "forty_steps.py", *asked, *learned, "--", "2")
    assert done.returncode == 0, done.stderr
    return folder


def trained(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "forty.json").read_text())
    return found


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "run", "out", "--", *arguments],
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_patch_ran_beside_the_script(folder: Path) -> None:
    """Its first line has its own gain; one without a gain is not there, for that reason."""
    found = json.loads((folder / "out" / "result.json").read_text())
    if found["patch_gain"] is None:
        assert "times (" in found["why_no_patch"]
        assert not (folder / "out" / "train.patch").exists()
        return
    lines = (folder / "out" / "train.patch").read_text().splitlines()
    assert lines[0].startswith(f"# It was {found['patch_gain']['value']:.2f} times (")
    assert lines[1] == "# Its calls have 40 steps, because 32 do not divide the 40 of an epoch."
    assert '+model.compile("sgd", "mse", steps_per_execution=40)' in lines


def test_the_program_trains_as_many_steps_as_the_script(folder: Path) -> None:
    """No callback hears of 64 steps of 40."""
    with started(folder) as process:
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert trained(folder) == {"updates": 80, "told": [32, 40, 32, 40]}


def test_a_training_that_is_stopped_goes_on(folder: Path) -> None:
    """Ctrl-C ends it by one line and exit code 130; the same command makes what is left."""
    checkpoints = folder / "out" / "checkpoints"
    with started(folder, "--epochs", "100000") as process:
        until(lambda: checkpoints.is_dir() and any(checkpoints.glob("[2-9].weights.h5")))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith("Stopped: epoch ")
    assert last.endswith(f" is saved in {checkpoints}, where the same command goes on.")
    epochs = int(last.split()[2])
    with started(folder, "--epochs", str(epochs + 1)) as process:
        printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert f"Going on after epoch {epochs}, from" in printed
    assert trained(folder) == {"updates": 40 * (epochs + 1), "told": [32, 40]}
    assert not checkpoints.exists()
