"""What the rules take for granted is so in the installed TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.doctor.code.kinds import Kind
from autotune.doctor.rules.devices import read_device
from autotune.doctor.rules.keras_2 import NAMES as KERAS_2
from autotune.doctor.rules.old_calls import DEPRECATED, REMOVED, Old

from .conftest import TryOut

pytestmark = pytest.mark.real

DEVICES = (
    *("GPU:0", "/gpu:1", "cpu", "CPU:*", "/device:GPU:0", "/job:ps/task:0", "", "/device:gpu:*"),
    *(
        "gpu0",
        "/GPU0",
        "cuda:0",
        "/cpu:x",
        "/devcie:CPU:0",
        "/device:GPU",
        "GPU:0:1",
        "TPU:3",
        ":/cpu:0",
    ),
)


def methods(old: Old) -> list[str]:
    return [name for kind, name in old.methods if kind in {Kind.STRATEGY, None}]


def names(old: Old) -> list[str]:
    of_models = [f"keras.Model.{name}" for kind, name in old.methods if kind is Kind.MODEL]
    return [each.rstrip(".") for each in old.names] + of_models


@pytest.fixture(scope="module")
def facts(try_out: TryOut) -> dict[str, Any]:
    """Everything that is tried out, in one process of its own."""
    asked = {
        "names": [*names(REMOVED), *names(KERAS_2), *names(DEPRECATED)],
        "methods": [*methods(REMOVED), *methods(DEPRECATED)],
        "devices": DEVICES,
    }
    return try_out("facts.py", asked)


def test_what_is_called_removed_is_gone(facts: dict[str, Any]) -> None:
    """Names and methods."""
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
