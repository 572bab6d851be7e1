"""The delivered program for Ray, submitted as a job to a cluster."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cluster.delivered import STEPS, deliver
from tests.cluster.hosts import Hosts
from tests.cluster.ray_hosts import BIN, RayHosts
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

SUBMIT = ("ray", "job", "submit", "--working-dir", ".")
HEAD = "import json, os, socket, sys, time\nconfig = json.loads(os.environ['TF_CONFIG'])\n"
TELL = "print(json.dumps([socket.gethostname(), config, sys.argv[1:]]), flush=True)\n"
FAIL = "if config['task']['index'] == 1: sys.exit(3)\n"
LAST = "time.sleep(3600)\n"


@pytest.fixture(scope="module")
def cluster(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayHosts]:
    del namespaces
    pytest.importorskip("aiohttp_cors", reason="Ray is installed without what takes jobs.")
    with closing(Hosts(("host0", "host1"), tmp_path_factory.mktemp("hosts"))) as hosts:
        yield RayHosts(hosts, dashboard=True)


def submit(cluster: RayHosts, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*SUBMIT, "--", "python", "launch_ray.py", *arguments]
    return cluster.run(*command, cwd=folder)


def training(cluster: RayHosts) -> list[psutil.Process]:
    found = []
    for each in (each for host in cluster.hosts for each in host.processes()):
        with suppress(psutil.Error):
            found += [each] if "train.py" in each.cmdline() else []
    return found


def test_a_gang_trains_on_two_nodes(cluster: RayHosts, folder: Path) -> None:
    """Launcher and program are as they were delivered; what they print and their status come."""
    deliver(folder, "launch_ray.py")
    done = submit(cluster, folder, *STEPS)
    assert done.returncode == 0, done.stdout
    assert "[worker 0] Epoch 2/2" in done.stdout
    assert "loss:" in done.stdout
    assert "[worker 1] " in done.stdout
    assert not training(cluster)


def test_each_process_is_told_who_it_is(cluster: RayHosts, folder: Path) -> None:
    """On a node of its own, with the addresses of all and the arguments as they were written."""
    deliver(folder, "launch_ray.py")
    (folder / "train.py").write_text(HEAD + TELL, encoding="utf-8")
    done = cluster.run("python", "launch_ray.py", "--epochs", "a 'b'", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line.partition("] ")[2]) for line in done.stdout.splitlines()]
    assert {host for host, _, _ in told} == {"host0", "host1"}
    assert sorted(config["task"]["index"] for _, config, _ in told) == [0, 1]
    for host, config, arguments in told:
        mine = config["cluster"]["worker"][config["task"]["index"]]
        assert mine.startswith(f"10.77.0.1{host[-1]}:")
        assert arguments == ["--epochs", "a 'b'"]


def test_what_is_to_stay_needs_a_place_that_stays(cluster: RayHosts, folder: Path) -> None:
    """Ray removes its copy of the folder, and what was written there with it."""
    deliver(folder, "launch_ray.py")
    done = cluster.run("python", "launch_ray.py", "--save=model.keras", cwd=folder)
    assert done.returncode == 1
    assert "--save needs the full path of a folder that all nodes share." in done.stderr


def test_a_process_that_fails_ends_the_job(cluster: RayHosts, folder: Path) -> None:
    """The other one would wait for it without end; the status is that of the one that failed."""
    deliver(folder, "launch_ray.py")
    (folder / "train.py").write_text(HEAD + FAIL + LAST, encoding="utf-8")
    done = submit(cluster, folder)
    assert done.returncode != 0
    assert "Worker 1 exited with status 3." in done.stdout
    assert "failed with exit code 3" in done.stdout
    until(lambda: not training(cluster))


def stop(cluster: RayHosts, folder: Path, job: str) -> None:
    cluster.run("ray", "job", "stop", job, cwd=folder)


def lose(cluster: RayHosts, *_: Any) -> None:
    cluster.hosts[1].do(BIN / "ray", "stop", "--force")


@pytest.mark.parametrize("end", [stop, lose])
def test_a_job_that_is_ended_leaves_no_process(
    cluster: RayHosts, folder: Path, end: Callable[[RayHosts, Path, str], None]
) -> None:
    """Neither a user's wish nor the loss of a node lets a process train on alone."""
    deliver(folder, "launch_ray.py")
    (folder / "train.py").write_text(HEAD + LAST, encoding="utf-8")
    job = end.__name__
    command = [*SUBMIT, "--submission-id", job, "--no-wait", "--", "python", "launch_ray.py"]
    started = cluster.run(*command, cwd=folder)
    assert started.returncode == 0, started.stdout
    until(lambda: len(training(cluster)) == 2)
    end(cluster, folder, job)
    until(lambda: not training(cluster))
