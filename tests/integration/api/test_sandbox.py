"""The sandbox of uploaded code: what a hostile program finds there, and what is left of it."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from autotune.api import sandbox
from autotune.api.settings import Settings
from autotune.api.work import processes
from tests.waiting import until

PROBE = """
import json, os, pathlib, socket, sys
def tried(action):
    try:
        return str(action())[:200]
    except BaseException as exc:
        return type(exc).__name__
out, data, port, paths = sys.argv[1:]
sys.path[:] = json.loads(paths)
print(json.dumps({
    "data": tried(lambda: os.listdir(data)),
    "secret": tried(lambda: pathlib.Path(data, "first-key").read_text()),
    "shadow": tried(lambda: pathlib.Path("/etc/shadow").read_text()),
    "home": tried(lambda: os.listdir("/root")),
    "environment": sorted(os.environ),
    "parent": tried(lambda: pathlib.Path("/proc/1/environ").read_text()),
    "processes": [each for each in os.listdir("/proc") if each.isdigit()],
    "network": tried(lambda: socket.create_connection(("127.0.0.1", int(port)), 2)),
    "python": tried(lambda: pathlib.Path(sys.prefix, "x").write_text("1")),
    "above": tried(lambda: pathlib.Path(out, "..", "x").resolve().write_text("1")),
    "out": tried(lambda: pathlib.Path(out, "x").write_text("1")),
    "code": tried(lambda: pathlib.Path("beside").write_text("1")),
    "folder": tried(lambda: os.listdir("/tmp")),
    "rights": [l for l in open("/proc/self/status") if l.startswith(("NoNewPrivs", "CapEff"))],
    "import": tried(lambda: __import__("autotune").__name__),
}))
"""

PATHS = json.dumps([each for each in sys.path if each])


@pytest.fixture
def place(settings: Settings) -> dict[str, Path]:
    refused = sandbox.refusal(settings)
    if refused:
        pytest.skip(f"no sandbox here: {refused}")
    (settings.data).mkdir()
    (settings.data / "first-key").write_text("secret")
    out = settings.data / "jobs" / "1"
    (out / "code").mkdir(parents=True)
    return {"out": out, "code": out / "code"}


def run(settings: Settings, place: dict[str, Path], program: str, *words: str) -> Any:
    command = [*sandbox.command(settings, **place), sys.executable, "-c", program, *words]
    marker = {processes.MARKER: secrets.token_hex(8)}
    return subprocess.run(
        command, env=sandbox.variables(marker), capture_output=True, text=True, check=False
    )


def test_a_program_finds_nothing_of_the_service(
    settings: Settings, place: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its data, its environment, its processes nor its network."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with tempfile.NamedTemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as listening:
        own, port = Path(file.name), str(listening.getsockname()[1])
        done = run(settings, place, PROBE, str(place["out"]), str(settings.data), port, PATHS)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["data"] == "['jobs']"  # The way to its own folder.
    assert {found[each] for each in ("secret", "shadow")} == {"FileNotFoundError"}
    assert "secret" not in done.stdout.replace('"secret"', "")
    assert "AWS_SECRET_ACCESS_KEY" not in found["environment"]
    assert "AWS" not in found["parent"]
    assert len(found["processes"]) <= 3
    assert found["network"] == "ConnectionRefusedError"
    assert found["python"] == "OSError"
    assert found["above"] in {"1", "OSError", "PermissionError"}
    assert not (settings.data / "jobs" / "x").exists()
    assert (found["out"], found["code"]) == ("1", "1")
    assert (place["out"] / "x").read_text() == "1"
    assert own.name not in found["folder"]
    assert "NoNewPrivs:\t1\n" in found["rights"]
    assert "CapEff:\t0000000000000000\n" in found["rights"]
    assert found["import"] == "autotune"


def test_named_folders_can_be_read(
    settings: Settings, place: dict[str, Path], tmp_path: Path
) -> None:
    shared = tmp_path / "sets"
    shared.mkdir()
    (shared / "a").write_text("data")
    code = settings.code.model_copy(update={"folders": (shared,)})
    allowed = settings.model_copy(update={"code": code})
    program = f"print(open('{shared}/a').read()); open('{shared}/b', 'w')"
    assert "No such file" in run(settings, place, program).stderr
    done = run(allowed, place, program)
    assert done.stdout == "data\n"
    assert "Read-only file system" in done.stderr


FORKS = """
import os, sys, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        os.environ.clear()
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""


def test_nothing_outlives_the_sandbox(settings: Settings, place: dict[str, Path]) -> None:
    """Whatever sessions and environments its processes give themselves."""
    command = [*sandbox.command(settings, **place), sys.executable, "-c", FORKS]
    with subprocess.Popen(command, env=sandbox.variables({})) as started:
        first = psutil.Process(started.pid)
        until(lambda: len(first.children(recursive=True)) >= 22)
        every = first.children(recursive=True)
        memory, processes, _ = sandbox.use_of(first, place["out"])
        os.kill(started.pid, signal.SIGKILL)
    assert processes >= 22
    assert memory > 10_000_000
    until(lambda: not any(each.is_running() for each in every))


def test_its_settings_and_data_are_hidden_within_what_it_may_read(
    settings: Settings, place: dict[str, Path], tmp_path: Path
) -> None:
    """Where an operator has put all into one folder."""
    file = tmp_path / "service.toml"
    file.write_text("secret")
    code = settings.code.model_copy(update={"folders": (tmp_path,)})
    around = settings.model_copy(update={"code": code, "file": file})
    words = (str(place["out"]), str(settings.data), "1", PATHS)
    found = json.loads(run(around, place, PROBE, *words).stdout)
    assert found["secret"] == "FileNotFoundError"  # noqa: S105 - none
    done = run(around, place, f"print(open('{file}').read())")
    assert "secret" not in done.stdout
