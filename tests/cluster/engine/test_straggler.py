"""A slow host in a gang is named, and what the others reach without it is as predicted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts
from tests.cluster.ray_hosts import BIN, RayHosts

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]

SLOW = "10.77.0.11"
MODULE = """\
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

SECONDS = 0.6 if Path("/run/slow").exists() else 0.2


class Sleep(keras.layers.Layer):
    def call(self, inputs):
        outputs = tf.numpy_function(self.pass_on, [inputs], tf.float32)
        return tf.ensure_shape(outputs, inputs.shape)

    def pass_on(self, inputs):
        time.sleep(SECONDS)
        return inputs


def model_fn():
    model = keras.Sequential([keras.Input((4,)), Sleep(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn():
    return tf.data.Dataset.from_tensors((tf.zeros(4), tf.zeros(1))).repeat(4096)
"""
CALLER = """\
import json, sys
from pathlib import Path

from autotune.engine.tasks.inspect import InspectionRequest
from autotune.config import Configuration
from autotune.checks.straggler import slow_worker
from autotune.stats import EXPECTED
from autotune.options import SearchOptions
from autotune.engine.ray import RayEngine
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.workload import Workload, factory_from_text

GANG = Configuration(
    strategy="multi_worker_mirrored", workers=3, per_replica_batch=8, shard_policy="data"
)
workload = Workload(
    model=factory_from_text("mine.py:model_fn"), dataset=factory_from_text("mine.py:dataset_fn")
)
with RayEngine(sys.argv[1]) as engine:
    facts = engine.execute(InspectionRequest(workload))
    runner = Runner(
        engine,
        Subject(workload=workload, facts=facts, machine=engine.machine()),
        TrialList(),
        folder=Path("trials"),
        budget=Budget(SearchOptions(budget=None), engine.now, engine.now()),
        observer=lambda _: None,
    )
    together = runner.step_time(GANG, held=True).seconds
    apart = runner.step_time(GANG, held=True, exchanges=False).workers
    found = slow_worker(apart, together, EXPECTED)
    # The slow one is left out: two workers are on the first two hosts that there are.
    engine.hosts.left[found.worker].lose(silent=1.0)
    less = runner.step_time(GANG.but(workers=2), held=True).seconds
    gain = (2 / less) / (3 / together)
    host = engine.machine().hosts[found.worker].name
    told = {"host": host, "factor": found.factor, "gain": gain, **found.without.model_dump()}
    print(json.dumps(told))
"""


@pytest.fixture
def cluster(hosts: Hosts) -> RayHosts:
    """Three hosts with Ray, of which the second is slow."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    hosts[1].do("touch", "/run/slow")
    return RayHosts(hosts)


def test_a_slow_host_is_named_with_what_the_others_reach(cluster: RayHosts, folder: Path) -> None:
    """Its step takes three times as long; a gang without it is measured, and was predicted."""
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    (folder / "caller.py").write_text(CALLER, encoding="utf-8")
    done = cluster.run(BIN / "python", "caller.py", cluster.url, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    print(told)  # noqa: T201 - for whoever asks with -s
    assert told["host"] == SLOW
    assert 1.5 < told["factor"] < 4
    assert 0.8 < told["value"] / told["gain"] < 1.25
