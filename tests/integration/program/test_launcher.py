"""The launcher of a gang, with workers that need no TensorFlow."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.golden import golden_texts
from tests.waiting import until

HEAD = """\
import json, os, signal, sys, time
me = json.loads(os.environ["TF_CONFIG"])
kind, index, addresses = me["task"]["type"], me["task"]["index"], me["cluster"]["worker"]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(f"{os.path.dirname(__file__)}/pid {kind} {index}", "w").write(str(os.getpid()))
print("ready", flush=True)
"""

SSH = """\
#!/bin/sh
[ "$1 $2 $3" = "-o BatchMode=yes --" ] || exit 2
echo "to $4"
exec sh -c "$5"
"""
"""Stands in for ssh; tests/cluster has a real one."""
ELSEWHERE = ("--hosts", "one.invalid,two.invalid:30000")

Launch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    folder = tmp_path / "a 'folder'\nof mine"
    folder.mkdir()
    started = []

    def start(lines: str, *arguments: str, launcher: str = "launch") -> subprocess.Popen[str]:
        (folder / "launch.py").write_text(golden_texts()[f"{launcher}.py"], encoding="utf-8")
        (folder / "train.py").write_text(HEAD + lines, encoding="utf-8")
        (folder / "ssh").write_text(SSH, encoding="utf-8")
        (folder / "ssh").chmod(0o755)
        command = [sys.executable, folder / "launch.py", *arguments]
        pipe = subprocess.PIPE
        found_first = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        started.append(
            subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=found_first)
        )
        return started[0]

    yield start
    for each in started:
        each.kill()
        each.communicate()
    for path in folder.glob("pid *"):
        # One that was ended as it began has not written its own.
        if pid := path.read_text():
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)


def test_workers_learn_of_each_other(launch: Launch) -> None:
    """Each gets number, addresses and the command line's arguments; who takes longer ends too."""
    told = "time.sleep(index); print(index, len(set(addresses)), *sys.argv[1:])"
    gang = launch(told, "--epochs", "a b")
    lines = sorted(gang.communicate(timeout=300)[0].splitlines())
    assert lines == [
        "[worker 0] 0 2 --epochs a b",
        "[worker 0] ready",
        "[worker 1] 1 2 --epochs a b",
        "[worker 1] ready",
    ]
    assert gang.returncode == 0


def test_one_failing_worker_ends_the_others(launch: Launch) -> None:
    """Not only by SIGTERM, which workers ignore; the last words of the failed one are shown."""
    gang = launch("time.sleep(600 * (1 - index)); sys.exit('no more room')")
    output, errors = gang.communicate(timeout=300)
    assert gang.returncode == 1
    assert "[worker 1] no more room" in output
    assert errors == "Worker 1 exited with status 1.\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_no_worker_is_left_behind(launch: Launch, number: signal.Signals, status: int) -> None:
    gang = launch("time.sleep(600)")
    for _ in range(2):
        assert "ready" in (gang.stdout.readline() if gang.stdout else "")
    gang.send_signal(number)
    _, errors = gang.communicate(timeout=300)
    assert gang.returncode == status
    said = "Stopped: the same command goes on from the last saved epoch."
    assert errors.split("\n")[1:2] == ([said] if number is signal.SIGINT else [])


def test_a_cluster_is_done_when_its_chief_is(launch: Launch) -> None:
    """Workers and servers wait for orders without end, so the launcher ends them."""
    lines = "print(sorted(map(len, me['cluster'].values())))\nif kind != 'chief': time.sleep(600)"
    gang = launch(lines, launcher="launch_servers")
    output, errors = gang.communicate(timeout=300)
    assert (gang.returncode, errors) == (0, "")
    assert "[chief 0] [1, 1, 2]" in output


@pytest.mark.parametrize("kind", ["chief", "worker", "ps"])
def test_whoever_fails_ends_the_cluster(launch: Launch, kind: str) -> None:
    """A chief would wait for a lost worker or server to come back."""
    lines = f"sys.exit(3) if (kind, index) == ('{kind}', 0) else time.sleep(600)"
    gang = launch(lines, launcher="launch_servers")
    _, errors = gang.communicate(timeout=300)
    assert (gang.returncode, errors) == (1, f"{kind.capitalize()} 0 exited with status 3.\n")


def test_workers_on_other_hosts_are_started_by_ssh(launch: Launch) -> None:
    """A command of their shell is all that it takes, whatever stands in the folder's name."""
    gang = launch("print(index, addresses, *sys.argv[1:])", *ELSEWHERE, "--epochs", "a 'b'")
    output, errors = gang.communicate(timeout=300)
    assert (gang.returncode, errors) == (0, "")
    cluster = ["one.invalid:20000", "two.invalid:30000"]
    assert sorted(output.splitlines()) == [
        f"[worker 0] 0 {cluster} --epochs a 'b'",
        "[worker 0] ready",
        "[worker 0] to one.invalid",
        f"[worker 1] 1 {cluster} --epochs a 'b'",
        "[worker 1] ready",
        "[worker 1] to two.invalid",
    ]


def test_this_host_needs_no_ssh(launch: Launch) -> None:
    """Whatever name it is called by; a host that is named again has another port for each."""
    gang = launch("print(addresses)", "--hosts", f"localhost,{socket.gethostname()}")
    output, errors = gang.communicate(timeout=300)
    assert (gang.returncode, errors) == (0, "")
    assert "to " not in output
    assert f"['localhost:20000', '{socket.gethostname()}:20001']" in output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_is_left_on_another_host(launch: Launch, number: signal.Signals) -> None:
    """It ends with its input, so even a launcher that is killed leaves nothing behind."""
    gang = launch("time.sleep(600)", *ELSEWHERE)
    for _ in range(4):
        assert gang.stdout
        gang.stdout.readline()
    gang.send_signal(number)
    gang.communicate(timeout=300)
    for path in Path(str(gang.args[1])).parent.glob("pid *"):
        worker = int(path.read_text())
        until(lambda: not psutil.pid_exists(worker))  # noqa: B023 - called before the next


def test_other_numbers_of_hosts_are_refused(launch: Launch) -> None:
    _, errors = launch("", "--hosts", "one").communicate(timeout=300)
    assert errors == (
        "--hosts names 1, but there are 2 processes (2 worker): name one host for each, if need be "
        "the same again.\n"
    )


def test_commands_are_shown_for_those_who_have_no_ssh(launch: Launch) -> None:
    """Each does on its host what ssh would have it do, and nothing is started here."""
    gang = launch("print(index, *sys.argv[1:])", *ELSEWHERE, "--print", "--epochs", "a 'b'")
    # The folder of this test has a line break in its name.
    _, *shown = gang.communicate(timeout=300)[0].split("# Worker ")
    heads = [each.partition(":")[0] for each in shown]
    assert heads == ["0, on one.invalid", "1, on two.invalid"]
    for index, each in enumerate(shown):
        command = ["sh", "-c", each.partition("\n")[2]]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"ready\n{index} --epochs a 'b'\n"
