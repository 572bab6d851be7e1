"""The delivered launcher starts the delivered program on several hosts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.delivered import QUIET, STEPS, deliver, trains
from tests.cluster.hosts import Hosts
from tests.cluster.remote_shell import serve, why_not
from tests.waiting import happens

HEAD = "import json, os, socket, sys, time\n"
TELL = (
    "print(socket.gethostname(), json.loads(os.environ['TF_CONFIG']), sys.argv[1:], flush=True)\n"
)
HOSTS = ("--hosts", "host1,host2")


@pytest.fixture
def reachable(hosts: Hosts, tmp_path: Path) -> Hosts:
    if reason := why_not():
        pytest.skip(reason)
    serve(hosts, tmp_path)
    return hosts


def launched(folder: Path, lines: str) -> list[str]:
    deliver(folder, "launch.py")
    (folder / "train.py").write_text(HEAD + TELL + lines, encoding="utf-8")
    return [sys.executable, str(folder / "launch.py"), *HOSTS]


def read(process: subprocess.Popen[str], text: str, times: int) -> None:
    assert process.stdout
    seen: list[str] = []
    while sum(text in line for line in seen) < times:
        seen.append(process.stdout.readline())
        assert seen[-1], seen


def ends_everywhere(hosts: Hosts, seconds: float = 60) -> bool:
    return happens(lambda: not any(trains(host) for host in hosts), seconds)


@pytest.mark.real
def test_a_gang_trains_on_two_hosts(reachable: Hosts, folder: Path) -> None:
    """One worker where the launcher is started, the other one by ssh."""
    deliver(folder, "launch.py")
    command = [sys.executable, "launch.py", "--hosts", "host0,host1", *STEPS]
    done = reachable[0].run(*command, cwd=folder, env={**os.environ, **QUIET})
    assert done.returncode == 0, done.stdout
    assert "[worker 0] Epoch 2/2" in done.stdout
    assert "loss:" in done.stdout
    assert ends_everywhere(reachable, 0)


def test_no_host_trains_without_its_launcher(reachable: Hosts, folder: Path) -> None:
    """Even if it is killed: what ssh started ends with its input."""
    with reachable[0].start(*launched(folder, "time.sleep(600)"), cwd=folder) as launcher:
        read(launcher, "host", 2)
        [process] = (each for each in reachable[0].processes() if "python" in each.info["name"])
        process.kill()
        launcher.wait(timeout=60)
        assert ends_everywhere(reachable)


def test_a_host_that_cannot_be_reached_ends_the_others(reachable: Hosts, folder: Path) -> None:
    reachable[2].run("pkill", "sshd")
    done = reachable[0].run(*launched(folder, "time.sleep(600)"), cwd=folder)
    assert "[worker 1] ssh: connect to host host2 port 22: Connection refused" in done.stdout
    assert done.returncode == 1
    assert ends_everywhere(reachable, 0)


@pytest.mark.real
def test_a_cut_link_ends_the_training(reachable: Hosts, folder: Path) -> None:
    """The worker that is left sees it, and so does the one that was cut off."""
    deliver(folder, "launch.py")
    command = [sys.executable, "launch.py", "--hosts", "host0,host1", "--epochs", "100000"]
    quiet = {**os.environ, **QUIET}
    with reachable[0].start(*command, "--verbose", "2", cwd=folder, env=quiet) as launcher:
        read(launcher, "[worker 0] Epoch 3/", 1)
        reachable.cut(1)
        output, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 1
    assert "Worker 0 exited with status" in output
    assert ends_everywhere(reachable)
