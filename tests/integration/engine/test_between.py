"""What a program does between its epochs is timed apart: its validation and its checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.between import BetweenEpochs, BetweenEpochsRequest
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.engine.tasks.train import trial_request
from autotune.machine import Host, Machine
from autotune.workload import Factory, Workload, script_from_text, script_workload

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

MACHINE = Machine(hosts=(Host(cpus=2, memory=2**34, processor="x"),))
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
    engine: LocalEngine, workload: Workload, folder: Path, configuration: Configuration = ONE
) -> BetweenEpochs:
    facts = engine.execute(InspectionRequest(workload))
    trial = trial_request(configuration, workload, facts, MACHINE, folder / "trial")
    found = engine.execute(BetweenEpochsRequest(trial=trial))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "configuration",
    [
        ONE,
        TWO.but(strategy="mirrored", steps_per_execution=2),
        ONE.but(
            strategy="multi_worker_mirrored", workers=2, shard_policy="data", per_replica_batch=8
        ),
    ],
    ids=["one device", "loop", "workers"],
)
def test_validation_and_checkpoint_are_timed(
    engine: LocalEngine, tmp_path: Path, configuration: Configuration
) -> None:
    """Two examples take 0.2 s each to be read, and the tracing of the first time does not count."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "between.py").write_text(TEXT)
    factories = {
        name: Factory(name=f"{name}_fn", module="between", root=str(root))
        for name in ("model", "dataset")
    }
    found = timed(engine, Workload(**factories), tmp_path, configuration)
    assert found.validation is not None
    assert found.validation >= 0.4
    assert found.checkpoint is not None
    assert 0 < found.checkpoint < found.validation + 5


def test_a_script_validates_as_it_does_by_itself(engine: LocalEngine, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(TEXT + FIT)
    found = timed(engine, script_workload(script_from_text(str(path))), tmp_path)
    assert found.validation is not None
    assert found.validation >= 0.4
    assert found.checkpoint is not None


def test_what_validates_nothing_only_saves(engine: LocalEngine, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(TEXT + "model_fn().fit(X, Y, batch_size=16, verbose=0)")
    found = timed(engine, script_workload(script_from_text(str(path))), tmp_path)
    assert found.validation is None
    assert found.checkpoint is not None
