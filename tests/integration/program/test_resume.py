"""A training that was killed goes on, and learns what an undisturbed one does."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from autotune.program import Program
from tests.golden import deliver, golden_texts
from tests.waiting import until

from .conftest import ENVIRONMENT, HERE, Run, weights

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

EPOCHS = 6
PATIENCE = 300
SLOWLY = """
import time
import keras

class Slow(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(1)

def callbacks():
    return [Slow()]
"""
AGAIN = """
import keras
import numpy as np

from keras_input import batches_of
from keras_training import Checkpoints, ScaledRate

x = np.ones((64, 1), "float32")

def trained(epochs):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    checkpoints = Checkpoints("saved")
    checkpoints.stays = True
    scaled = ScaledRate(2.0, 8, (64, 1.0), 1, workers=1, saves=False)
    model.fit(x, x, batch_size=8, epochs=epochs, callbacks=[scaled, checkpoints], verbose=0)
    rate = round(float(model.optimizer.learning_rate.numpy()), 6)
    return rate, int(model.optimizer.iterations.numpy())

found = [trained(epochs) for epochs in (1, 2, 3)]

class Second(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.second = keras.layers.Dense(1), keras.optimizers.SGD(0.1)
        self.dense.build((None, 1))
        self.built = True

    def train_step(self, data):
        self.second.apply([keras.ops.ones((1, 1))], [self.dense.kernel])
        return {"loss": keras.ops.mean(self.dense.kernel)}

for epochs in (1, 2):
    model = Second()
    model.compile()
    checkpoints = Checkpoints("second")
    checkpoints.stays = True
    model.fit(x, batch_size=32, epochs=epochs, callbacks=[checkpoints], verbose=0)
    found.append(int(model.second.iterations.numpy()))
batches = batches_of(np.arange(6), batch_size=4, shuffle=False)
print(found, [batch.numpy().tolist() for batch in batches])
trained(2)
"""
"""A model without variables goes on twice with a scaled rate, then with too few epochs. One with an
optimizer of its own goes on with that. The first step of each later training counts for nothing."""
PROGRAMS = {"replicas": "mirrored_fit", "workers": "workers_data", "servers": "servers_data"}
LAUNCH = {"workers": "launch.py", "servers": "launch_servers.py"}


class Training:
    """A program in a folder of its own."""

    def __init__(self, train: Run, folder: Path, kind: str) -> None:
        (folder / "slowly.py").write_text(SLOWLY)
        texts = golden_texts()
        launch = texts[LAUNCH[kind]] if kind in LAUNCH else None
        self.program = Program(train=texts[f"{PROGRAMS[kind]}.py"], launch=launch)
        self.history, self.model = folder / "history.csv", folder / "model.keras"
        self.folder, self.train = folder, train

    def order(self, *arguments: str) -> list[str]:
        steps = ["--epochs", str(EPOCHS), "--steps-per-epoch", "8", "--verbose", "2"]
        return [*steps, "--history", str(self.history), "--resume", *arguments]

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it slowly, in a process of its own."""
        file = deliver(self.folder / "train.py", self.program.train, self.program.launch)
        return subprocess.Popen(
            [sys.executable, file, *self.order("--callbacks", "slowly:callbacks", *arguments)],
            cwd=HERE,
            env={**ENVIRONMENT, "PYTHONPATH": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, *arguments: str, **options: Any) -> str:
        return self.train(self.folder, self.program, *self.order(*arguments), **options)

    def be_killed(self) -> None:
        """Train until the third epoch was saved, and leave no process."""
        with self.begin() as process:
            self.wait_for_epoch(2)
            for each in [process, *psutil.Process(process.pid).children(recursive=True)]:
                each.send_signal(signal.SIGKILL)
            process.communicate(timeout=PATIENCE)

    def losses(self) -> dict[int, float]:
        """Return the loss of each epoch; the last one that was written, where there are two."""
        with self.history.open() as file:
            return {int(row["epoch"]): float(row["loss"]) for row in csv.DictReader(file)}

    def wait_for_epoch(self, epoch: int) -> None:
        until(lambda: self.history.exists() and epoch in self.losses(), PATIENCE)


Trained = tuple[Training, str]
"""A training, and what it printed."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, train: Run) -> Trained:
    """Nobody has killed it. It ends with an error, because there is no place for its model."""
    training = Training(train, tmp_path_factory.mktemp("undisturbed"), "replicas")
    training.model.mkdir()
    return training, training.finish("--save", str(training.model), status=1)


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory, train: Run) -> Trained:
    """One of its two workers was killed. It ends with an error too."""
    training = Training(train, tmp_path_factory.mktemp("restarted"), "workers")
    training.model.mkdir()
    with training.begin("--save", str(training.model)) as process:
        training.wait_for_epoch(2)
        for each in psutil.Process(process.pid).children(recursive=True):
            task = json.loads(each.environ().get("TF_CONFIG", "{}")).get("task", {})
            if task.get("index") == 1:
                each.send_signal(signal.SIGKILL)
        printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, printed
    return training, printed


def figures(printed: str) -> list[str]:
    """Return the lines on epochs."""
    return [line for line in printed.splitlines() if "loss:" in line]


def test_all_that_were_killed_go_on(tmp_path: Path, train: Run, undisturbed: Trained) -> None:
    """From the last epoch that was saved, with the optimizer's state, to the same losses."""
    training = Training(train, tmp_path, "replicas")
    training.be_killed()
    # As where it is killed while it saves.
    (training.folder / "checkpoints" / "draft-9.weights.h5").write_bytes(b"cut o")
    printed = training.finish()
    assert "Going on after epoch" in printed
    assert not (training.folder / "checkpoints").exists()
    assert training.losses() == pytest.approx(undisturbed[0].losses(), rel=1e-4)


def test_a_worker_that_was_killed_is_started_again(
    restarted: Trained, undisturbed: Trained
) -> None:
    """With the other one, which cannot go on without it, to what replicas of one process learn."""
    training, printed = restarted
    assert "Worker 1 exited with status -9." in printed
    assert "Starting all again, from the last checkpoint." in printed
    assert "Going on after epoch" in printed
    assert training.losses() == pytest.approx(undisturbed[0].losses(), rel=1e-4)


def test_a_gang_reports_the_metrics_of_all_workers(
    restarted: Trained, undisturbed: Trained
) -> None:
    """Worker 0 prints what one process would, and the others print nothing."""
    lines, expected = figures(restarted[1]), figures(undisturbed[1])
    assert lines[-1].partition("accuracy:")[2] == expected[-1].partition("accuracy:")[2] != ""
    assert all(line.startswith("[worker 0] ") for line in lines)


def test_what_is_kept_is_neither_changed_nor_removed(tmp_path: Path, alone: Run) -> None:
    """The user's own rate, further optimizers, and the epochs where fewer are asked for.

    The last batch of data that are not shuffled is filled up, or its examples would never train.
    """
    printed = alone(deliver(tmp_path / "again.py", AGAIN), cwd=tmp_path, status=1)
    found = "[(0.001, 8), (0.001, 15), (0.001, 22), 2, 3] [[0, 1, 2, 3], [4, 5, 0, 1]]\n"
    assert found in printed
    assert "saved holds 3 epochs of a training: go on by --epochs 4 or more" in printed
    assert (tmp_path / "saved" / "3.weights.h5").exists()


def test_servers_that_were_killed_go_on(tmp_path: Path, train: Run) -> None:
    """Their workers do not wait for each other, so that no two trainings have the same losses.

    The chief reports each epoch, and saves what was learned.
    """
    training = Training(train, tmp_path, "servers")
    training.be_killed()
    printed = training.finish("--save", str(training.model))
    assert "Going on after epoch" in printed
    assert sorted(training.losses()) == list(range(EPOCHS))
    assert not (training.folder / "checkpoints").exists()
    lines = figures(printed)
    assert lines
    assert all(line.startswith("[chief 0] ") for line in lines)
    learned = weights(training.model).values()
    assert sorted(each.shape for each in learned) == [(3,), (8, 16), (16,), (16, 3)]
    assert all(np.isfinite(each).all() and np.abs(each).max() > 0 for each in learned)


@pytest.mark.parametrize("kind", ["undisturbed", "restarted"])
def test_who_cannot_save_keeps_the_checkpoint(request: pytest.FixtureRequest, kind: str) -> None:
    """Nothing is trained again once there is a place for the model."""
    training, printed = request.getfixturevalue(kind)
    assert f"The model could not be written to {training.model}" in printed
    training.model.rmdir()
    printed = training.finish("--save", str(training.model))
    assert f"Going on after epoch {EPOCHS}" in printed
    assert training.model.is_file()
    assert not (training.folder / "checkpoints").exists()


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path, train: Run) -> None:
    """In words, and nothing of it is lost."""
    training = Training(train, tmp_path, "replicas")
    folder = tmp_path / "other"
    folder.mkdir()
    saved = folder / "3.weights.h5"
    saved.write_bytes(b"not a checkpoint")
    printed = training.finish("--resume", str(folder), status=1)
    assert "is not of this model, or is damaged" in printed
    assert saved.read_bytes() == b"not a checkpoint"
