"""The service with a cluster as its engine: API, worker and trials are real."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune import Client, SearchOptions
from tests.cluster.engine.nodes import Nodes
from tests.cluster.engine.test_search import SPACE
from tests.cluster.ray_hosts import BIN, QUIET, ROOT

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

WORKLOAD = "tiny_dense"
LIMITS = SearchOptions(budget=1800, max_trials=8, train_for="500h")
"""The trials end it, and no profile fills the rest: the budget is more than any machine needs."""


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


def test_a_job_runs_on_the_cluster(service: subprocess.Popen[str], nodes: Nodes) -> None:
    """A gang of two nodes is among its trials, and nothing is left when the service ends."""
    assert service.stdout
    address = re.search(r"http://127\.0\.0\.1:\d+", service.stdout.readline())
    assert address
    with Client(address[0]) as client:
        job = client.wait(client.submit(WORKLOAD, space=SPACE, options=LIMITS), 600.0)
        assert job.state == "done", job
        result = client.result(job)
    assert any(each.configuration.workers == 2 for each in result.trials)
    assert len(result.machine.hosts) == 2
    service.send_signal(signal.SIGINT)
    assert service.wait(60) == 0
    assert nodes.left() == []
