"""The check of a cluster that lets in only who has its token, on hosts of their own."""

import json
import secrets
from collections.abc import Iterator
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from tests.cluster.conftest import HOSTS
from tests.cluster.hosts import Hosts
from tests.cluster.ray_hosts import RayHosts

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

CHECK = ("machine", "mine.py:model_fn", "mine.py:dataset_fn")
MODULE = """\
import os
from pathlib import Path

import keras
import tensorflow as tf


def model_fn():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn():
    if any(name.startswith("RAY_") for name in os.environ):
        raise ValueError("There are variables of Ray.")
    rows = int(Path("/run/rows").read_text())
    return tf.data.Dataset.from_tensors((tf.zeros(4), tf.zeros(1))).repeat(rows)
"""

SCRIPT = """\
from mine import dataset_fn, model_fn

model_fn().fit(dataset_fn().batch(8))
"""


@pytest.fixture(scope="module")
def cluster(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHosts]:
    del namespaces
    token = secrets.token_hex(32)
    with closing(Hosts(HOSTS, tmp_path_factory.mktemp("hosts"))) as hosts:
        yield RayHosts(hosts, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)


def give_rows(cluster: RayHosts, *rows: int) -> None:
    for host, each in zip(cluster.hosts, rows, strict=True):
        host.do("sh", "-c", f"echo {each} > /run/rows")


def test_only_the_token_opens_a_cluster(cluster: RayHosts, folder: Path) -> None:
    """With it all machines are checked; the user's code sees none of it; without it one is told."""
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    give_rows(cluster, 64, 64, 64)
    done = cluster.autotune(*CHECK, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "3 machines" in done.stderr
    assert "are one machine: its cores and memory are counted 3 times" in done.stderr
    for wrong in ({"RAY_AUTH_TOKEN": secrets.token_hex(32)}, {"RAY_AUTH_MODE": "disabled"}):
        kept, cluster.environment = cluster.environment, {**cluster.environment, **wrong}
        done = cluster.autotune(*CHECK, cwd=folder)
        cluster.environment = kept
        assert done.returncode != 0
        assert "refused or did not answer" in done.stderr
        assert "RAY_AUTH_MODE" in done.stderr


def test_machines_are_checked(cluster: RayHosts, folder: Path) -> None:
    """The network is measured as it is shaped, and data that differ are named with the machine.

    What a script reads is compared as that of factories.
    """
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    cluster.hosts.shape("100mbit")
    done = cluster.autotune("machine", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    links = json.loads(done.stdout)["links"]
    pairs = {*permutations([each.address for each in cluster.hosts], 2)}
    assert {(each["from"], each["to"]) for each in links} == pairs
    assert all(2e6 < each["bytes_per_second"] < 14e6 for each in links)
    give_rows(cluster, 64, 65, 66)
    done = cluster.autotune(*CHECK, cwd=folder)
    assert done.returncode != 0
    assert "10.77.0.11" in done.stderr
    assert "65 and 64" in done.stderr
    give_rows(cluster, 64, 64, 32)
    done = cluster.autotune("machine", "train.py", cwd=folder)
    assert done.returncode != 0
    assert str(cluster.hosts[2].address) in done.stderr
