"""A Ray cluster on hosts that are namespaces, and commands that use it from the first of them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.hosts import Host, Hosts

PORT = 6379
BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
START = ("--object-store-memory=78643200", "--include-log-monitor=false")
OWN = {"RAY_TMPDIR": "/run/ray", "TMPDIR": "/run", "HOME": "/run"}
"""Where a host's files are that no other host sees."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "CUDA_VISIBLE_DEVICES": "-1",
}
ENVIRONMENT = {
    **os.environ,
    **QUIET,
    **OWN,
    "PATH": f"{BIN}:{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
}
TIMES = 3
"""That a host may try to start; Ray gives a node half a minute, and nothing changes that."""


class RayHosts:
    """Hosts of which each is a node of a Ray cluster, the first one its head.

    Args:
        hosts: In a network of their own.
        dashboard: Whether its head has one, without which it takes no jobs.
        head_cpus: Of the head; without any it only calls.
        variables: Of Ray and of all commands, beside the usual ones.
    """

    def __init__(
        self, hosts: Hosts, *, dashboard: bool = False, head_cpus: int = 1, **variables: str
    ) -> None:
        pytest.importorskip("ray", reason="Ray is not installed.")
        self.hosts = hosts
        self.environment = {**ENVIRONMENT, **variables}
        self.address = f"{hosts[0].address}:{PORT}"
        head = ("--head", f"--port={PORT}", f"--include-dashboard={dashboard}")
        self._start(hosts[0], *head, f"--num-cpus={head_cpus}")
        for number in range(1, len(hosts)):
            self._start(hosts[number], f"--address={self.address}", "--num-cpus=1")

    @property
    def url(self) -> str:
        return f"ray://{self.address}"

    def _start(self, host: Host, *options: str) -> None:
        """Have a host take part, as often as a busy machine lets it miss its time."""
        where = f"--node-ip-address={host.address}"
        for _ in range(TIMES):
            start = ("start", where, *START, *options)
            done = host.run(BIN / "ray", *start, env=self.environment, timeout=300)
            if done.returncode == 0:
                return
            host.run(BIN / "ray", "stop", "--force", env=self.environment)
        raise AssertionError(done.stdout)

    def run(
        self, *command: str | Path, cwd: Path, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        streams = {"env": self.environment, "stderr": subprocess.PIPE, "cwd": cwd}
        return self.hosts[0].run(*command, timeout=timeout, **streams)

    def autotune(
        self, *arguments: str | Path, cwd: Path, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        command: Sequence[str | Path] = [BIN / "autotune", *arguments, "--engine", self.url]
        return self.run(*command, cwd=cwd, timeout=timeout)
