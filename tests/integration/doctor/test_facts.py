"""What the rules take for granted is so in the installed TensorFlow and Keras."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autotune.code.values import Kind
from autotune.doctor.rules.devices import read_device
from autotune.doctor.rules.keras_3 import NAMES as KERAS_2
from autotune.doctor.rules.old_calls import DEPRECATED, REMOVED, Old

pytestmark = pytest.mark.real

DEVICES = (
    *("GPU:0", "/gpu:1", "cpu", "CPU:*", "/device:GPU:0", "/job:ps/task:0", "", "/device:gpu:*"),
    *("gpu0", "/GPU0", "cuda:0", "/cpu:x", "/devcie:CPU:0", "/device:GPU", "GPU:0:1", "TPU:3"),
    ":/cpu:0",
)
STARTS = (
    *("tf.constant(1.0)", "tf.random.uniform((2,))", "tf.Variable(0.0)", "tf.device('CPU:0')"),
    *("tf.data.Dataset.range(3)", "tf.config.list_logical_devices()", "keras.optimizers.SGD(0.1)"),
    *("keras.metrics.Mean()", "keras.Sequential([keras.layers.Dense(1)]).compile('sgd', 'mse')"),
    *("tf.distribute.OneDeviceStrategy('CPU:0')", "tf.distribute.MultiWorkerMirroredStrategy()"),
)
IDLE = (
    *("tf.random.set_seed(1)", "keras.utils.set_random_seed(1)", "tf.data.Options()"),
    *("tf.config.list_physical_devices()", "keras.losses.MeanSquaredError()"),
    *("keras.Sequential([keras.layers.Dense(1)])", "tf.distribute.get_strategy()"),
)


def methods(old: Old) -> list[str]:
    return [name for kind, name in old.methods if kind in {Kind.STRATEGY, None}]


def names(old: Old) -> list[str]:
    of_models = [f"keras.Model.{name}" for kind, name in old.methods if kind is Kind.MODEL]
    return [each.rstrip(".") for each in old.names] + of_models


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    """What a program of its own, with one import of TensorFlow, has tried out."""
    asked = {
        "names": [*names(REMOVED), *names(KERAS_2), *names(DEPRECATED)],
        "methods": [*methods(REMOVED), *methods(DEPRECATED)],
        "devices": DEVICES,
        "starts": [*STARTS, *IDLE],
    }
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "programs" / "facts.py"],
        input=json.dumps(asked),
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_what_is_called_removed_is_gone(facts: dict[str, Any]) -> None:
    gone = [*names(REMOVED), *names(KERAS_2)]
    assert [name for name in gone if facts["names"][name]] == []
    assert not any(facts["methods"][name] for name in methods(REMOVED))


def test_what_is_called_deprecated_is_still_there(facts: dict[str, Any]) -> None:
    """When it goes, it belongs to the removed ones."""
    assert all(facts["names"][name] for name in names(DEPRECATED))
    assert all(facts["methods"][name] for name in methods(DEPRECATED))


@pytest.mark.parametrize("name", DEVICES)
def test_device_names_are_read_as_tensorflow_does(facts: dict[str, Any], name: str) -> None:
    """What it refuses is refused, and nothing else."""
    assert (read_device(name) is not None) == facts["devices"][name]


def test_only_the_losses_of_keras_count_the_replicas(facts: dict[str, Any]) -> None:
    """A mean over two replicas adds up to twice the loss, unless Keras has taken it."""
    assert facts["losses"] == {"none": 2.0, "sum_over_batch_size": 1.0}


def test_models_and_optimizers_belong_into_the_scope(facts: dict[str, Any]) -> None:
    """From outside they fail as soon as the replicas train."""
    assert facts["scopes"] == {
        "nothing outside": False,
        "optimizer outside": True,
        "model outside": True,
    }


def test_settings_are_refused_once_the_runtime_has_started(facts: dict[str, Any]) -> None:
    """By each of what the rule counts as a start, and by nothing that it does not."""
    assert [each for each in STARTS if facts["settings"][each]] == []
    assert [each for each in IDLE if not facts["settings"][each]] == []


def test_gradients_cannot_be_accumulated_on_replicas(facts: dict[str, Any]) -> None:
    """Once they can, the rule goes."""
    assert facts["accumulation"] == {"None": True, "2": False}


def test_keras_cannot_train_on_two_workers(facts: dict[str, Any]) -> None:
    """Once it can, the rule goes."""
    assert facts["workers"] == {"fit": False, "evaluate": False}
    assert facts["predict"]
