"""What a program does between its epochs is timed apart: its validation and its checkpoints."""

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import BetweenEpochsRequest, InspectionRequest, trial_request
from autotune.workload import Returned, Workload, WorkloadFacts

from .conftest import MACHINE, in_module, in_script

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

TEXT = """
import time, keras, numpy as np, tensorflow as tf
def model_fn():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
def one(x, y):
    time.sleep(0.2)
    return x, y
def slowly(x, y):
    x, y = tf.numpy_function(one, (x, y), (tf.float32, tf.float32))
    return tf.ensure_shape(x, (8,)), tf.ensure_shape(y, (1,))
X, Y = np.ones((64, 8), "float32"), np.ones((64, 1), "float32")
def dataset_fn():
    data = tf.data.Dataset.from_tensor_slices((X, Y))
    return data, data.take(2).map(slowly)
"""
FIT = "model_fn().fit(X, Y, batch_size=16, verbose=0, validation_data=dataset_fn()[1].batch(2))"
ONE = Configuration(per_replica_batch=16)
TWO = ONE.but(per_replica_batch=8, replicas_per_worker=2)


def timed(
    engine: LocalEngine,
    workload: Workload,
    folder: Path,
    configuration: Configuration = ONE,
    facts: WorkloadFacts | None = None,
) -> float:
    facts = facts or engine.execute(InspectionRequest(workload))
    trial = trial_request(configuration, workload, facts, MACHINE, folder / "trial")
    found = engine.execute(BetweenEpochsRequest(trial=trial))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "configuration",
    [
        TWO.but(strategy="mirrored", steps_per_execution=2),
        ONE.but(
            strategy="multi_worker_mirrored", workers=2, shard_policy="data", per_replica_batch=8
        ),
    ],
    ids=["loop", "workers"],
)
def test_what_a_program_does_after_an_epoch_is_timed(
    engine: LocalEngine, tmp_path: Path, configuration: Configuration
) -> None:
    """Two examples take 0.2 s each to be read, and the tracing of the first time does not count."""
    facts = WorkloadFacts(examples=64, returned=Returned(beside=True))
    assert 0.4 <= timed(engine, in_module(tmp_path, TEXT), tmp_path, configuration, facts) < 6


def test_a_callback_of_the_user_s_is_no_validation(engine: LocalEngine, tmp_path: Path) -> None:
    """Its time is part of every trial already."""
    slow = "callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: time.sleep(1.0))]"
    fit = f"model_fn().fit(X, Y, batch_size=16, verbose=0, validation_split=0.5, {slow})"
    assert 0 < timed(engine, in_script(tmp_path, TEXT + fit), tmp_path) < 1.0


def test_a_script_does_what_it_does_by_itself(engine: LocalEngine, tmp_path: Path) -> None:
    """It validates, and its own checkpoint is written, but not beside the script."""
    callbacks = "callbacks=[keras.callbacks.ModelCheckpoint('kept.weights.h5', "
    callbacks += "save_weights_only=True)]"
    assert timed(engine, in_script(tmp_path, f"{TEXT}{FIT[:-1]}, {callbacks})"), tmp_path) >= 0.4
    assert not (tmp_path / "kept.weights.h5").exists()
