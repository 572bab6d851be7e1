"""The check of a cluster, on hosts of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.delivered import QUIET
from tests.cluster.hosts import Host, Hosts
from tests.cluster.ray_hosts import start_ray

PORT = 6379
NODE = ("--num-cpus=1", "--object-store-memory=78643200")
BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, **QUIET, "RAY_USAGE_STATS_ENABLED": "0"}
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


@pytest.fixture
def cluster(hosts: Hosts, folder: Path) -> Hosts:
    """Hosts of which two are nodes of a Ray cluster; each has data of its own in `/run`."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    address = f"--address={hosts[0].address}:{PORT}"
    head = ("--head", f"--port={PORT}", "--include-dashboard=false")
    start_ray(hosts[0], *NODE, *head, environment=ENVIRONMENT)
    start_ray(hosts[1], *NODE, address, environment=ENVIRONMENT)
    return hosts


def check(host: Host, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    url = f"ray://{host.address}:{PORT}"
    command = [BIN / "autotune", "cluster", "check", *arguments, "--engine", url]
    return host.run(*command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, timeout=150)


@pytest.mark.real
@pytest.mark.timeout(600)
def test_machines_are_checked(cluster: Hosts, folder: Path) -> None:
    """The network is measured as it is shaped, and data that differ are named with the machine."""
    cluster.shape("100mbit")
    done = check(cluster[0], folder, "--json")
    assert done.returncode == 0, done.stderr
    links = json.loads(done.stdout)["links"]
    assert {(each["from"], each["to"]) for each in links} == {
        ("10.77.0.10", "10.77.0.11"),
        ("10.77.0.11", "10.77.0.10"),
    }
    assert all(2e6 < each["bytes_per_second"] < 14e6 for each in links)
    for number, host in enumerate(cluster[:2]):
        host.do("sh", "-c", f"echo {64 + number} > /run/rows")
    done = check(cluster[0], folder, "mine.py:model_fn", "mine.py:dataset_fn")
    assert done.returncode != 0
    assert "10.77.0.11" in done.stderr
    assert "65 and 64" in done.stderr
