"""The service with a cluster as its engine: API, worker and trials are real."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.cluster.engine.nodes import Nodes
from tests.cluster.engine.test_search import SPACE
from tests.cluster.ray_hosts import BIN, QUIET, ROOT

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

WORKLOAD = "tiny_dense"
ASKED = {
    "workload": WORKLOAD,
    "space": SPACE,
    # The trials end it, and no profile fills the rest: the budget is more than any machine needs.
    "budget": 1800,
    "max_trials": 2,
    "diagnose": False,
}
PATIENCE = 600.0
FINAL = {"done", "failed", "cancelled"}


@pytest.fixture
def service(nodes: Nodes, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "examples").mkdir()
    for name in (f"{WORKLOAD}.py", "workloads.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path / "examples")
    variables = {"AUTOTUNE_SERVICE_ENGINE": nodes.url, "PYTHONUNBUFFERED": "1", **QUIET}
    with (tmp_path / "service.log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / "autotune", "serve", "--port", "0", "--no-keys"],
            cwd=tmp_path,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def client(service: subprocess.Popen[str]) -> Iterator[httpx.Client]:
    assert service.stdout
    address = re.search(r"http://127\.0\.0\.1:\d+", service.stdout.readline())
    assert address
    with httpx.Client(base_url=address[0], timeout=60) as client:
        yield client


def ended(client: httpx.Client, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        found: dict[str, Any] = client.get(job).json()
        if found["state"] in FINAL:
            return found
        assert time.monotonic() < deadline, client.get(f"{job}/events").text
        time.sleep(1)


def test_a_job_runs_on_the_cluster(
    client: httpx.Client, service: subprocess.Popen[str], nodes: Nodes
) -> None:
    """A gang of two nodes is among its trials, and nothing is left when the service ends."""
    made = client.post("/v1/tunings", json=ASKED)
    assert made.status_code == 202, made.text
    where = made.headers["location"]
    job = ended(client, where)
    assert job["state"] == "done", job
    trials = client.get(f"{where}/trials").json()["trials"]
    assert any(each["configuration"]["workers"] == 2 for each in trials)
    machine = client.get(f"{where}/recommendation").json()["machine"]
    assert len(machine["hosts"]) == 2
    service.send_signal(signal.SIGINT)
    assert service.wait(60) == 0
    assert nodes.left() == []
