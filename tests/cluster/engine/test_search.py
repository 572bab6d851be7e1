"""A search on a cluster from start to end, as a user sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.cluster.engine.nodes import Nodes

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


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "autotune", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        program, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "mine.py").write_text(WORKLOAD)
    (folder / "space.yaml").write_text(yaml.safe_dump(SPACE))
    return folder


def test_the_machine_is_the_cluster(nodes: Nodes, project: Path) -> None:
    """It has the hosts of the cluster, with their devices and the software."""
    done = command(project, "machine", "--engine", nodes.url, "--json")
    assert done.returncode == 0, done.stderr
    machine = json.loads(done.stdout)
    assert [each["cpus"] > 0 for each in machine["hosts"]] == [True, True]
    assert machine["tensorflow"]
    assert nodes.left() == []


def test_a_search_runs_on_the_cluster_and_delivers_a_program(nodes: Nodes, project: Path) -> None:
    """One device and a gang of two hosts are tried; what is delivered trains by itself."""
    done = command(
        project,
        *("tune", "mine.py:model_fn", "mine.py:dataset_fn", "--engine", nodes.url),
        *("--space", "space.yaml", "--budget", "400s", "--max-trials", "2", "--no-diagnose"),
        *("--out", "out", "--json"),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    tried = {each["configuration"]["workers"]: each["outcome"] for each in result["trials"]}
    assert tried[1] == "measured"
    assert 2 in tried
    gang = [each for each in (project / "out").glob("trials/*/*") if both(each)]
    assert gang, "no trial has brought home what two processes have printed"
    delivered = trained(project / "out")
    assert delivered.returncode == 0, delivered.stderr
    assert nodes.left() == []


def both(folder: Path) -> bool:
    """Whether a trial's folder holds what two processes have reported."""
    return all((folder / f"events-{index}.jsonl").is_file() for index in range(2))


def trained(out: Path) -> subprocess.CompletedProcess[str]:
    launcher = out / "launch.py"
    program: Sequence[str | Path] = [launcher if launcher.exists() else out / "train.py"]
    return subprocess.run(
        [sys.executable, *program, "--epochs", "1"],
        cwd=out.parent,
        capture_output=True,
        text=True,
        check=False,
    )
