"""The engine on hosts with networks of their own, whose cables can be pulled."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.hosts import Host, Hosts
from tests.cluster.ray_hosts import RayHosts
from tests.waiting import happens

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

CALLER = """
import sys, time
from pathlib import Path
from autotune.strategies import Role
from autotune.engine.ray import RayEngine
from tests.trials import ENOUGH, request_for

place, folder = sys.argv[1], Path(sys.argv[2])
two = (Role(), Role(index=1, host=1))
seen = []
def told(windows):
    seen.append(time.monotonic())
    print("trains", len(windows), flush=True)
with RayEngine(place) as engine:
    print("hosts", *[each.name for each in engine.machine().hosts], flush=True)
    result = engine.execute(request_for("gang", folder / "gang", roles=two), told)
    print("ended", result.reason.kind, getattr(result.reason, "host", ""), flush=True)
    alone = engine.execute(request_for("fit", folder / "alone"), lambda _: ENOUGH)
    print("alone", alone.outcome, flush=True)
"""


@pytest.fixture
def cluster(hosts: Hosts) -> RayHosts:
    """Three hosts with Ray, of which the first one only calls."""
    return RayHosts(hosts, head_cpus=0)


def call(cluster: RayHosts, folder: Path) -> subprocess.Popen[str]:
    """Start the caller, and wait until its workers train."""
    (folder / "caller.py").write_text(CALLER)
    process = cluster.hosts[0].start(
        *(sys.executable, folder / "caller.py", cluster.url, folder), env=cluster.environment
    )
    assert process.stdout
    said = [process.stdout.readline()]
    while not said[-1].startswith("trains 5") and said[-1]:
        said.append(process.stdout.readline())
    assert said[-1], said
    return process


def test_a_host_that_is_cut_off_is_told_in_seconds(cluster: RayHosts, tmp_path: Path) -> None:
    """It is named long before Ray or TensorFlow see it, and the next trial runs on another one."""
    with call(cluster, tmp_path) as process:
        cluster.hosts.cut(2)
        begun = time.monotonic()
        assert process.stdout
        while "ended" not in (line := process.stdout.readline()):
            assert line
        seconds = time.monotonic() - begun
        assert line.split()[1:3] == ["host_lost", "host2"]
        assert seconds < 45
        assert process.stdout.readline() == "alone measured\n"
        assert process.wait(60) == 0
    print(f"cut link: told after {seconds:.1f} s")  # noqa: T201 - for whoever asks with -s


def test_a_caller_that_is_cut_off_leaves_no_trial(cluster: RayHosts, tmp_path: Path) -> None:
    """Its gang is ended on hosts that hear nothing of it."""
    with call(cluster, tmp_path) as process:
        cluster.hosts.cut(0)
        assert happens(lambda: not any(ranks(each) for each in cluster.hosts[1:]))
        process.kill()


def ranks(host: Host) -> int:
    forked = [each for each in host.processes() if "fork_server" in " ".join(each.cmdline())]
    return max(len(forked) - 1, 0)
