"""A search whose cluster loses its head."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import yaml

from tests.cluster.engine.nodes import MARK, Nodes
from tests.cluster.engine.test_search import SPACE, WORKLOAD
from tests.cluster.ray_hosts import ROOT
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]

WITHIN = 55.0
"""Seconds; Ray itself waits for its head for a minute."""


def head(nodes: Nodes) -> psutil.Process:
    found = [each for each in psutil.process_iter(["name"]) if each.info["name"] == "gcs_server"]
    [one] = [each for each in found if each.environ().get(MARK) == nodes.mark]
    return one


def test_a_search_ends_with_what_it_has(apart: Nodes, tmp_path: Path) -> None:
    """The error names the cluster, trials are kept for `--resume`, and nothing is left."""
    (tmp_path / "mine.py").write_text(WORKLOAD)
    axes = {**SPACE["axes"], "per_replica_batch": [8, 16, 32, 64, 128]}
    (tmp_path / "space.yaml").write_text(yaml.safe_dump({**SPACE, "axes": axes}))
    command = [
        *(sys.executable, "-m", "autotune", "tune", "mine.py:model_fn", "mine.py:dataset_fn"),
        *("--engine", apart.url, "--space", "space.yaml", "--budget", "900s"),
        *("--train-for", "500h", "--out", "out"),
    ]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=variables, **streams) as search:
        until(lambda: search.poll() is not None or [*tmp_path.glob("out/trials/*/0002")], 600)
        assert search.poll() is None
        head(apart).send_signal(signal.SIGKILL)
        began = time.monotonic()
        _, errors = search.communicate(timeout=WITHIN)
    print(f"head killed: ended after {time.monotonic() - began:.1f} s\n{errors}")  # noqa: T201
    assert search.returncode not in (0, None)
    assert "Ray cluster" in errors
    assert "--resume" in errors
    with closing(sqlite3.connect(tmp_path / "out" / "study.db")) as study:
        [[kept]] = study.execute("SELECT COUNT(*) FROM trials WHERE state = 'COMPLETE'")
    assert kept >= 1
    assert apart.left() == []
