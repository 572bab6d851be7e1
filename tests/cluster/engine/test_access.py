"""A cluster that lets in only who has its token."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts
from tests.cluster.ray_hosts import RayHosts

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

MODULE = """\
import os

import keras
import tensorflow as tf


def model_fn():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn():
    if any(name.startswith("RAY_") for name in os.environ):
        raise ValueError("There are variables of Ray.")
    return tf.data.Dataset.from_tensors((tf.zeros(4), tf.zeros(1))).repeat(64)
"""


@pytest.fixture
def cluster(hosts: Hosts) -> RayHosts:
    pytest.importorskip("ray", reason="Ray is not installed.")
    return RayHosts(hosts, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))


def test_only_the_token_opens_a_cluster(cluster: RayHosts, folder: Path) -> None:
    """With it all machines are checked; the user's code sees none of it; without it one is told."""
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    check = ("cluster", "check", "mine.py:model_fn", "mine.py:dataset_fn")
    done = cluster.autotune(*check, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "3 machines" in done.stderr
    for wrong in ({"RAY_AUTH_TOKEN": secrets.token_hex(32)}, {"RAY_AUTH_MODE": "disabled"}):
        kept, cluster.environment = cluster.environment, {**cluster.environment, **wrong}
        done = cluster.autotune(*check, cwd=folder)
        cluster.environment = kept
        assert done.returncode != 0
        assert "refused or did not answer" in done.stderr
        assert "RAY_AUTH_MODE" in done.stderr
