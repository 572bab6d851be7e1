"""The check of a cluster, on hosts of their own."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts
from tests.cluster.ray_hosts import RayHosts

MODULE = """\
from pathlib import Path

import keras
import tensorflow as tf


def model_fn():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn():
    rows = int(Path("/run/rows").read_text())
    return tf.data.Dataset.from_tensors((tf.zeros(4), tf.zeros(1))).repeat(rows)
"""


@pytest.mark.real
@pytest.mark.timeout(600)
def test_machines_are_checked(hosts: Hosts, folder: Path) -> None:
    """The network is measured as it is shaped, and data that differ are named with the machine."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    cluster = RayHosts(hosts)
    hosts.shape("100mbit")
    done = cluster.autotune("cluster", "check", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    links = json.loads(done.stdout)["links"]
    pairs = {*permutations([each.address for each in hosts], 2)}
    assert {(each["from"], each["to"]) for each in links} == pairs
    assert all(2e6 < each["bytes_per_second"] < 14e6 for each in links)
    for number, host in enumerate(hosts):
        host.do("sh", "-c", f"echo {64 + number} > /run/rows")
    done = cluster.autotune(
        "cluster", "check", "mine.py:model_fn", "mine.py:dataset_fn", cwd=folder
    )
    assert done.returncode != 0
    assert "10.77.0.11" in done.stderr
    assert "65 and 64" in done.stderr
