"""What the rules take for granted of start-up is so in the installed TensorFlow and Keras."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import TryOut

pytestmark = pytest.mark.real

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


@pytest.fixture(scope="module")
def facts(try_out: TryOut) -> dict[str, Any]:
    """Everything that is tried out, each in a process of its own."""
    return try_out("startup.py", [*STARTS, *IDLE])


def test_settings_are_refused_once_the_runtime_has_started(facts: dict[str, Any]) -> None:
    """By each of what the rule counts as a start, and by nothing that it does not."""
    assert [each for each in STARTS if facts["settings"][each]] == []
    assert [each for each in IDLE if not facts["settings"][each]] == []


def test_gradients_cannot_be_accumulated_on_replicas(facts: dict[str, Any]) -> None:
    """Once they can, the rule goes."""
    assert facts["accumulation"] == {"None": True, "2": False}


def test_keras_cannot_train_on_two_workers(facts: dict[str, Any]) -> None:
    """Once it can, the rule goes."""
    assert facts["workers"] == {"fit": False, "evaluate": False, "predict": True}
