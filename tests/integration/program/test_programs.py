"""The golden programs train, and train the same as one device does."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune import library

from .conftest import ALONE

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

STEPS_PER_CALL = {
    "one_device_all_options": 3,
    "cache_in_file": 2,
    "mirrored_loop": 5,
    "mirrored_loop_unbuilt": 2,
}
Done = dict[str, dict[str, Any]]
Distance = Callable[[str, str], float]


@pytest.mark.parametrize("name", ALONE)
def test_a_program_trains(done: Done, name: str) -> None:
    """Its losses are finite, its epochs whole, its callbacks called once per call of steps."""
    steps = STEPS_PER_CALL.get(name, 1)
    assert done[name]["updates"] == [8, 16]
    assert all(math.isfinite(each) for each in done[name]["losses"])
    assert [each // steps for each in done[name]["batches"]] == [*range(math.ceil(8 / steps))] * 2


def test_xla_is_on_only_where_it_was_chosen(done: Done) -> None:
    """What Keras would choose by itself does not matter."""
    chosen = {name for name in ALONE if done[name]["jit"]}
    assert chosen == {"one_device_all_options"}


@pytest.mark.parametrize(
    "name",
    ["one_device_all_options", "batch_size", "mirrored_fit", "mirrored_loop", "cache_handed"],
)
def test_weights_do_not_depend_on_the_configuration(
    distance: Distance, done: Done, name: str
) -> None:
    assert done[name]["epochs"][-1] == pytest.approx(done["one_device"]["epochs"][-1], abs=1e-4)
    assert distance("one_device", name) < 1e-4


@pytest.mark.usefixtures("done", "gang")
def test_two_workers_train_the_same_as_one_device(distance: Distance) -> None:
    """Here the factory divides the examples; where tf.data does, test_resume compares losses."""
    assert distance("one_device_custom", "workers_source") < 1e-4


@pytest.mark.usefixtures("done")
def test_callbacks_of_the_workload_are_called_in_fit(folder: Path) -> None:
    assert (folder / "calls").read_text().splitlines() == [
        "seed [7, 0]",
        "epoch 0: 8 calls, loss mae weight",
        "epoch 1: 16 calls, loss mae weight",
    ]


@pytest.mark.usefixtures("gang")
def test_callbacks_of_the_workload_are_called_in_every_worker(folder: Path) -> None:
    """If one of them stops the training, all workers stop after the same epoch."""
    lines = (folder / "workers_source" / "calls").read_text().splitlines()
    epochs = [line for line in lines if line.startswith("epoch")]
    assert sorted(epochs) == sorted(
        [f"epoch {epoch}: {8 * epoch + 8} calls, loss mae weight" for epoch in (0, 0, 1, 1)]
    )


@pytest.mark.usefixtures("gang")
def test_replicas_draw_different_random_numbers(done: Done, folder: Path) -> None:
    [(first, second)] = done["by_value"]["seeds"]
    assert first != second
    lines = (folder / "workers_source" / "calls").read_text().splitlines()
    assert len({line for line in lines if line.startswith("seed")}) == 2


def test_one_seed_gives_one_training(done: Done) -> None:
    assert done["again"]["losses"] == done["by_value"]["losses"]
    assert done["again"]["seeds"] == done["by_value"]["seeds"]
    assert done["other_seed"]["losses"] != done["by_value"]["losses"]


def test_a_loop_does_not_read_the_loss_of_a_step(done: Done) -> None:
    for name in ("mirrored_loop", "mirrored_loop_unbuilt"):
        assert done[name]["kinds"] == ["tensor"]


def test_a_program_explains_itself(done: Done) -> None:
    assert done["help"]["exit"] == 0
    assert "One device, batch 8" in done["help"]["printed"]
    assert "default: 10" in done["help"]["printed"]
    assert "--steps-per-epoch" in done["help"]["printed"]


def test_a_lone_process_of_a_cluster_says_so(done: Done) -> None:
    """Without TF_CONFIG a worker trains with another batch; a program with servers ends."""
    printed = done["lone_worker"]["printed"]
    assert "Replicas in this training: 1, because TF_CONFIG is not set. Tuned for: 2." in printed
    assert "Examples per step: 4, not 8." in printed
    assert "launch.py sets it" in str(done["lone_server"]["exit"])


def test_the_folder_of_a_trial_is_not_taken_for_the_module(tmp_path: Path) -> None:
    """Trials of `lstm.py` lie in a folder `lstm`, two above which nothing can be imported."""
    (tmp_path / "lstm.py").touch()
    (program := tmp_path / "here" / "out" / "trials" / "lstm" / "0000" / "train.py").parent.mkdir(
        parents=True
    )
    code = "from keras_training import add_folder; add_folder(sys.argv[1], '..', 'lstm')"
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; import lstm; print(lstm.__file__)", program],
        cwd=tmp_path / "here",
        env={**os.environ, "PYTHONPATH": str(library.FOLDER)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == [str(tmp_path / "here" / ".." / "lstm.py")]
