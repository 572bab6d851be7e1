"""The installed service as real processes, over HTTP, at its first start or at a later one."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psutil

from tests.waiting import until

HERE = Path(__file__).parent
COMMAND = Path(sys.executable).with_name("autotune")
PATHS = filter(None, [str(HERE / "acceptance"), str(HERE.parent), os.environ.get("PYTHONPATH")])
PATH = {"PYTHONPATH": os.pathsep.join(PATHS)}
"""On which the command finds the engines of the acceptance tests."""
ASKED = {
    "workload": "digits",
    "space": "quick",
    "budget": 180,
    "max_trials": 3,
    "objective": "max_throughput",
}


@dataclass(frozen=True)
class Serving:
    process: subprocess.Popen[str]
    client: httpx.Client
    log: Path
    key_file: Path

    @property
    def url(self) -> str:
        return str(self.client.base_url)

    @property
    def key(self) -> str:
        return self.key_file.read_text("utf-8").strip()

    def ask(self, **changes: object) -> str:
        made = self.client.post("/v1/tunings", json={**ASKED, **changes})
        assert made.status_code == 202, made.text
        return made.headers["location"]

    def job(self, where: str) -> dict[str, Any]:
        return self.client.get(where).json()

    def wait_for(self, where: str, state: str) -> None:
        until(lambda: self.job(where)["state"] == state)

    def family(self) -> list[psutil.Process]:
        return [own := psutil.Process(self.process.pid), *own.children(recursive=True)]


@contextmanager
def running(
    project: Path, *options: str, key_file: Path | None = None, engine: str = "serving:engine"
) -> Iterator[Serving]:
    """Give a service at its first start, or at a later one, whose key is known."""
    log = project / "service.log"
    variables = {
        **PATH,
        "PYTHONUNBUFFERED": "1",
        "AUTOTUNE_SERVICE_ENGINE": engine,
        "AUTOTUNE_SERVICE_PATIENCE": json.dumps({"idle": 0.3, "poll": 0.3}),
    }
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", *options],
            cwd=project,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        address = _told(process, r"(http://127\.0\.0\.1:\d+)")
        key_file = key_file or project / _told(process, r"First API key .*: in (.+);")
        header = {"Authorization": f"Bearer {key_file.read_text('utf-8').strip()}"}
        with httpx.Client(base_url=address, headers=header, timeout=60) as client:
            yield Serving(process, client, log, key_file)
    finally:
        process.kill()
        process.wait()


def _told(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout
    line = process.stdout.readline()
    found = re.search(pattern, line)
    assert found, line
    return found[1]
