"""A search on a cluster from start to end, as a user sees it."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.cluster.engine.nodes import Nodes
from tests.running import python

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

WORKLOAD = """
import keras
import tensorflow as tf

def model_fn():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse")
    return model

def dataset_fn():
    return tf.data.Dataset.from_tensor_slices((tf.ones((4096, 8)), tf.ones((4096, 1))))
"""
SPACE = {
    "name": "spread",
    "strategies": ["one_device", "multi_worker_mirrored"],
    "axes": {"per_replica_batch": [32], "workers": [2], "shard_policy": ["data"]},
}


def test_a_search_runs_on_the_cluster_and_delivers_a_program(nodes: Nodes, tmp_path: Path) -> None:
    """One device and a gang of two hosts are tried; what is delivered trains by itself."""
    (tmp_path / "mine.py").write_text(WORKLOAD)
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(SPACE))
    told = python(
        tmp_path,
        *("-m", "autotune", "tune", "mine.py:model_fn", "mine.py:dataset_fn"),
        *("--engine", nodes.url, "--space", "space.yaml", "--budget", "400s"),
        *("--max-trials", "8", "--train-for", "500h", "--out", "out", "--json"),
        PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
    )
    result = json.loads(told)
    assert [each["cpus"] > 0 for each in result["machine"]["hosts"]] == [True, True]
    tried = {each["configuration"]["workers"]: each["outcome"] for each in result["trials"]}
    assert tried[1] == "measured"
    assert 2 in tried
    out = tmp_path / "out"
    assert [*out.glob("trials/*/*/events-1.jsonl")], "nothing was brought from the second process"
    launcher = out / "launch.py"
    python(tmp_path, launcher if launcher.exists() else out / "train.py", "--epochs", "1")
    assert nodes.left() == []
