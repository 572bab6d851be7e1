"""The installed service over real HTTP, on an engine that takes no time."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import psutil
import pytest

from autotune.result import load_configuration

HERE = Path(__file__).parent
ASKED = {"workload": "digits", "space": "quick", "budget": 60, "max_trials": 3}


@dataclass(frozen=True)
class Serving:
    """A service that runs."""

    process: subprocess.Popen[str]
    client: httpx.Client
    log: Path

    def family(self) -> list[psutil.Process]:
        """Return all its processes."""
        return [own := psutil.Process(self.process.pid), *own.children(recursive=True)]


def until(look: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def start(command: Path, project: Path, *options: str) -> tuple[subprocess.Popen[str], Path]:
    """Start `autotune serve` in the project, on a free port."""
    log = project / "service.log"
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "AUTOTUNE_SERVICE_ENGINE": "serving:engine",
        "AUTOTUNE_SERVICE_PATIENCE": json.dumps({"idle": 0.3, "look": 0.3}),
    }
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [command, "serve", "--port", "0", *options],
            cwd=project,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    return process, log


def told(process: subprocess.Popen[str], pattern: str) -> str:
    """Return what the service prints on stdout."""
    assert process.stdout
    line = process.stdout.readline()
    found = re.search(pattern, line)
    assert found, line
    return found[1]


@contextmanager
def running(command: Path, project: Path) -> Iterator[Serving]:
    """Give a service at its first start."""
    process, log = start(command, project)
    try:
        address = told(process, r"(http://127\.0\.0\.1:\d+)")
        key = Path(told(process, r"First API key .*: in (.+);")).read_text("utf-8").strip()
        header = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=address, headers=header, timeout=60) as client:
            yield Serving(process, client, log)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def serving(project: Path, command: Path) -> Iterator[Serving]:
    """A service that several tests use, and none ends."""
    with running(command, project) as service:
        yield service


@pytest.fixture
def apart(project: Path, tmp_path: Path) -> Path:
    """A project folder in which nothing was served yet."""
    shutil.copytree(project / "examples", tmp_path / "examples")
    return tmp_path


def test_a_job_is_followed_to_its_program(serving: Serving, tmp_path: Path) -> None:
    """From the first key to the recommendation, its files and its figures."""
    client = serving.client
    made = client.post("/v1/tunings", json=ASKED)
    assert made.status_code == 202, made.text
    where = made.headers["location"]
    with client.stream("GET", f"{where}/events") as stream:
        kinds = [line[7:] for line in stream.iter_lines() if line.startswith("event: ")]
    assert kinds[0] == "queued"
    assert kinds[-1] == "ended"
    assert "trial_ended" in kinds
    assert client.get(where).json()["state"] == "done"
    told = client.get(f"{where}/recommendation").json()
    assert told["speedup"]["low"] <= told["speedup"]["value"] <= told["speedup"]["high"]
    assert client.get(f"{where}/script").text == told["script"]
    path = tmp_path / "config.yaml"
    path.write_bytes(client.get(f"{where}/config").content)
    assert load_configuration(path).configuration.model_dump(mode="json") == told["configuration"]
    assert client.get(f"{where}/report").text.startswith("# ")


def test_a_job_is_cancelled(serving: Serving) -> None:
    """Within ten seconds it has ended."""
    client = serving.client
    asked = {**ASKED, "max_trials": None, "space": "cpu"}
    where = client.post("/v1/tunings", json=asked).headers["location"]
    until(lambda: client.get(where).json()["trials"] > 0)
    assert client.post(f"{where}/cancel").status_code == 202
    until(lambda: client.get(where).json()["state"] == "cancelled", 10)


def test_a_worker_that_dies_is_started_again(serving: Serving) -> None:
    """The next job runs."""
    workers = [each for each in serving.family() if "worker" in each.cmdline()]
    assert len(workers) == 1
    workers[0].kill()
    where = serving.client.post("/v1/tunings", json=ASKED).headers["location"]
    until(lambda: serving.client.get(where).json()["state"] == "done")
    assert "The worker was terminated by signal 9; restarting." in serving.log.read_text()


def test_the_log_holds_no_secret(serving: Serving) -> None:
    """Neither the key nor what it is sent with."""
    assert serving.client.get("/v1/tunings").status_code == 200
    text = serving.log.read_text()
    assert "Request answered." in text
    assert serving.client.headers["authorization"].split()[1] not in text
    assert "Traceback" not in text


def test_a_key_of_the_command_line_is_good_at_once(
    serving: Serving, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """`autotune keys create` needs no restart."""
    made = run("keys", "create", "ci")
    header = {"Authorization": f"Bearer {made.stdout.strip()}"}
    assert serving.client.get("/v1/tunings", headers=header).json()["tunings"] == []


def test_ctrl_c_ends_everything(apart: Path, command: Path) -> None:
    """No process is left, a follower is let go, and the exit code is 0."""
    asked = {**ASKED, "max_trials": None, "space": "cpu"}
    with running(command, apart) as serving:
        client = serving.client
        where = client.post("/v1/tunings", json=asked).headers["location"]
        until(lambda: client.get(where).json()["trials"] > 0)
        family = serving.family()
        with client.stream("GET", f"{where}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines)
            serving.process.send_signal(signal.SIGINT)
            assert [*lines]
        assert serving.process.wait(60) == 0
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []


def test_nothing_is_left_when_the_supervisor_is_killed(apart: Path, command: Path) -> None:
    """Its parts die with it, however it dies."""
    with running(command, apart) as serving:
        family = serving.family()[1:]
        assert len(family) >= 2
        serving.process.kill()
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []


def test_a_second_start_prints_no_key(apart: Path, command: Path) -> None:
    """The first key was shown, and is good."""
    with running(command, apart) as first:
        header = first.client.headers["authorization"]
    process, _ = start(command, apart)
    address = told(process, r"(http://\S+)")
    answer = httpx.get(f"{address}/v1/tunings", headers={"Authorization": header})
    process.terminate()
    assert process.communicate()[0] == ""
    assert answer.status_code == 200


def test_nobody_else_reads_the_files(apart: Path, command: Path) -> None:
    """Not even where the data folder was made by somebody more generous."""
    folder = apart / "autotune-service"
    folder.mkdir(mode=0o755)
    with running(command, apart) as serving:
        where = serving.client.post("/v1/tunings", json=ASKED).headers["location"]
        until(lambda: serving.client.get(where).json()["state"] == "done")
    made = [each for each in folder.rglob("*") if not each.is_symlink()]
    assert {"service.db", "first-key", "search.log"} <= {each.name for each in made}
    assert [each for each in made if each.stat().st_mode & 0o077] == []
