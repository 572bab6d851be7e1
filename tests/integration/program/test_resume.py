"""A training that was killed goes on, and learns what an undisturbed one does."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psutil
import pytest

from tests.golden import deliver, golden_texts
from tests.waiting import until

from .conftest import ENVIRONMENT, HERE, LIBRARY

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
import sys

import keras
import numpy as np

from keras_input import batches_of
from keras_training import Checkpoints, ScaledRate

x = np.ones((64, 1), "float32")

def rate_after(epochs):
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.001), "mse")
    checkpoints = Checkpoints("saved")
    checkpoints.stays = True
    scaled = ScaledRate(2.0, 8, (64, 1.0), 1, workers=1, saves=False)
    model.fit(x, x, batch_size=8, epochs=epochs, callbacks=[scaled, checkpoints], verbose=0)
    return float(model.optimizer.learning_rate.numpy())

print([round(rate_after(epochs), 6) for epochs in (1, 2, 3)])

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
    print(int(model.second.iterations.numpy()))
print([batch.numpy().tolist() for batch in batches_of(np.arange(6), batch_size=4, shuffle=False)])
rate_after(2)
"""
"""A model without variables goes on twice with a scaled rate, then with too few epochs. One with an
optimizer of its own goes on with that: the first step of its second training counts for nothing."""
LATE = """
import keras
import numpy as np
import tensorflow as tf

def dataset_fn():
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x @ np.ones((4, 1), "float32")))

def model_fn():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.02), "mse")
    return model
"""
"""Knows its input from its first batch only."""
PROGRAMS = {
    "one device": "one_device",
    "replicas": "mirrored_fit",
    "workers": "workers_data",
    "servers": "servers_data",
}
LAUNCH = {"workers": "launch.py", "servers": "launch_servers.py"}


class Training:
    """A program in a folder of its own."""

    def __init__(self, folder: Path, kind: str) -> None:
        folder.mkdir()
        (folder / "slowly.py").write_text(SLOWLY)
        texts = golden_texts()
        launch = texts[LAUNCH[kind]] if kind in LAUNCH else None
        self.file = deliver(folder / "train.py", texts[f"{PROGRAMS[kind]}.py"], launch)
        self.history, self.model = folder / "history.csv", folder / "model.keras"
        self.folder = folder

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        steps = ["--epochs", str(EPOCHS), "--steps-per-epoch", "8", "--verbose", "2"]
        asked = [*steps, "--history", str(self.history), "--resume", *arguments]
        return subprocess.Popen(
            [sys.executable, self.file, *asked],
            cwd=HERE,
            env={**ENVIRONMENT, "PYTHONPATH": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, *arguments: str, status: int = 0) -> str:
        with self.start(*arguments) as process:
            printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == status, printed
        return printed

    def be_killed(self) -> None:
        """Train until the third epoch was saved, and leave no process."""
        with self.start("--callbacks", "slowly:callbacks") as process:
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


Undisturbed = Callable[[str], tuple[Training, str]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Return a function that gives a training that nobody has killed, and what it printed.

    It ends with an error, because there is no place for its model.
    """

    @cache
    def trained(kind: str) -> tuple[Training, str]:
        training = Training(tmp_path_factory.mktemp("undisturbed") / kind, kind)
        training.model.mkdir()
        return training, training.finish("--save", str(training.model), status=1)

    return trained


def test_all_that_were_killed_go_on(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """From the last epoch that was saved, with the optimizer's state, to the same losses."""
    training = Training(tmp_path / "killed", "replicas")
    training.be_killed()
    # As where it is killed while it saves.
    (training.folder / "checkpoints" / "draft-9.weights.h5").write_bytes(b"cut o")
    printed = training.finish()
    assert "Going on after epoch" in printed
    assert not (training.folder / "checkpoints").exists()
    assert training.losses() == pytest.approx(undisturbed("replicas")[0].losses(), rel=1e-4)


def test_a_worker_that_was_killed_is_started_again(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """With the other one, which cannot go on without it."""
    training = Training(tmp_path / "killed", "workers")
    with training.start("--callbacks", "slowly:callbacks") as process:
        training.wait_for_epoch(2)
        for each in psutil.Process(process.pid).children(recursive=True):
            task = json.loads(each.environ().get("TF_CONFIG", "{}")).get("task", {})
            if task.get("index") == 1:
                each.send_signal(signal.SIGKILL)
        printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, printed
    assert "Worker 1 exited with status -9." in printed
    assert "Starting all again, from the last checkpoint." in printed
    assert "Going on after epoch" in printed
    assert not (training.folder / "checkpoints").exists()
    assert training.losses() == pytest.approx(undisturbed("workers")[0].losses(), rel=1e-4)


def test_what_is_kept_is_neither_changed_nor_removed(tmp_path: Path) -> None:
    """The user's own rate, further optimizers, and the epochs where fewer are asked for.

    The last batch of data that are not shuffled is filled up, or its examples would never train.
    """
    library = {"PYTHONPATH": str(LIBRARY)}
    done = subprocess.run(
        [sys.executable, "-c", AGAIN],
        cwd=tmp_path,
        env={**ENVIRONMENT, **library},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    printed = [each for each in done.stdout.splitlines() if not each.startswith("Going on")]
    assert printed == ["[0.001, 0.001, 0.001]", "2", "3", "[[0, 1, 2, 3], [4, 5, 0, 1]]"]
    assert "saved holds 3 epochs of a training: go on by --epochs 4 or more" in done.stderr
    assert (tmp_path / "saved" / "3.weights.h5").exists()


def test_a_model_without_variables_goes_on_too(tmp_path: Path) -> None:
    training = Training(tmp_path / "late", "one device")
    (training.folder / "late.py").write_text(LATE)
    text = training.file.read_text().replace("from toy import", "from late import")
    training.file.write_text(text.replace('add_folder(__file__, "programs", "toy")', ""))
    training.be_killed()
    before = training.losses()
    assert "Going on after epoch" in training.finish()
    after = training.losses()
    assert sorted(after) == list(range(EPOCHS))
    assert after[EPOCHS - 1] < after[2] < before[0] / 2


def test_servers_that_were_killed_go_on(tmp_path: Path) -> None:
    """Their workers do not wait for each other, so that no two trainings have the same losses."""
    training = Training(tmp_path / "killed", "servers")
    training.be_killed()
    assert "Going on after epoch" in training.finish()
    assert sorted(training.losses()) == list(range(EPOCHS))
    assert not (training.folder / "checkpoints").exists()


@pytest.mark.parametrize("kind", ["replicas", "workers"])
def test_who_cannot_save_keeps_the_checkpoint(undisturbed: Undisturbed, kind: str) -> None:
    """Nothing is trained again once there is a place for the model."""
    training, printed = undisturbed(kind)
    assert f"The model could not be written to {training.model}" in printed
    training.model.rmdir()
    printed = training.finish("--save", str(training.model))
    assert f"Going on after epoch {EPOCHS}" in printed
    assert training.model.is_file()
    assert not (training.folder / "checkpoints").exists()


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    """In words, and nothing of it is lost."""
    training = Training(tmp_path / "mine", "replicas")
    folder = tmp_path / "other"
    folder.mkdir()
    saved = folder / "3.weights.h5"
    saved.write_bytes(b"not a checkpoint")
    printed = training.finish("--resume", str(folder), status=1)
    assert "is not of this model, or is damaged" in printed
    assert saved.read_bytes() == b"not a checkpoint"
