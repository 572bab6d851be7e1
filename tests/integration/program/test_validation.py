"""With several workers a script validates, evaluates and predicts as it does on one device."""

import json
from pathlib import Path
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.workload import FitData, FitFacts, OwnStrategy, Script, WorkloadFacts, script_workload
from tests.golden import CPUS, TWO_WORKERS

from .conftest import Run

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

SCRIPT = """
import json
import keras, numpy as np, tensorflow as tf

keras.utils.set_random_seed(1)
strategy = tf.distribute.MirroredStrategy()
rng = np.random.default_rng(0)
x, y = rng.random((90, 8), "float32"), rng.integers(0, 3, 90)
rows = tf.data.Dataset.from_tensor_slices((x[:50], y[:50]))
held = {
    "arrays": {"validation_data": (x[:50], y[:50], np.linspace(0, 1, 50))},
    "split": {"validation_split": 0.3},
    "compiled again": {"validation_data": rows.batch(16)},
}

class Rows(keras.utils.PyDataset):
    def __len__(self): return 3
    def __getitem__(self, index): return x[index * 20:][:20], y[index * 20:][:20]

class Watch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        self.seen = self.model.evaluate(x, y, verbose=0, return_dict=True)

found = {}
for kind, given in held.items():
    with strategy.scope():
        if kind != "compiled again":
            layers = [keras.layers.Dense(16, "relu"), keras.layers.Dense(3)]
            model = keras.Sequential([keras.Input((8,)), *layers])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        weighted = [keras.metrics.SparseTopKCategoricalAccuracy(2)]
        sgd = keras.optimizers.SGD(0.1 * strategy.num_replicas_in_sync)
        model.compile(sgd, loss, metrics=["accuracy"], weighted_metrics=weighted)
    watch = Watch()
    given |= {"batch_size": 8, "epochs": 2, "shuffle": False, "callbacks": [watch]}
    fitted = model.fit(x, y, verbose=0, **given)
    found[kind] = [
        {**fitted.history, **watch.seen},
        model.evaluate(Rows(), verbose=0),
        model.predict(x[:33], verbose=0).tolist(),
        len(model.evaluate(x, y, steps=2)),
        int(model.optimizer.iterations.numpy()),
    ]
found["drawn"] = float(tf.random.uniform(()))
name = strategy.cluster_resolver.task_id
open(f"found{name or 0}.json", "w").write(json.dumps(found))
"""


def found_by(train: Run, folder: Path, configuration: Configuration) -> list[dict[str, Any]]:
    """Return what each process finds of the script's program, which makes a strategy of its own."""
    folder.mkdir()
    (folder / "mine.py").write_text(SCRIPT)
    own = OwnStrategy(title="MirroredStrategy", line=6)
    fit = FitFacts(data=FitData.ARRAYS, own_strategy=own)
    facts = WorkloadFacts(examples=90, dataset_takes=("batch_size",), usual_batch=8, fit=fit)
    workload = script_workload(Script(path="mine.py"))
    train(folder, render(configuration, workload, facts, CPUS), cwd=folder)
    return [json.loads(each.read_text()) for each in sorted(folder.glob("found*.json"))]


def close(one: Any, other: Any) -> bool:
    """Whether two nested results are equal but for rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[each], other[each]) for each in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(abs(one - other) <= 2e-4)


def test_two_workers_find_what_one_device_does(train: Run, tmp_path: Path) -> None:
    """Each of them: in epochs, by a callback, and behind fit; and they make as many updates."""
    alone = Configuration(per_replica_batch=8, steps_per_execution=5)
    workers = TWO_WORKERS.but(shard_policy="data", steps_per_execution=5)
    (one,) = found_by(train, tmp_path / "one", alone)
    found = found_by(train, tmp_path / "two", workers)
    del one["drawn"]
    assert [one[kind][-1] for kind in one] == [24, 16, 24]
    assert "val_loss" in one["arrays"][0]
    assert len(found) == 2
    # Behind a training they draw alike again: a split of the data, or its next order.
    assert found[0]["drawn"] == found[1]["drawn"]
    for each in found:
        for kind, wanted in one.items():
            assert close(wanted, each[kind]), (kind, wanted, each[kind])
