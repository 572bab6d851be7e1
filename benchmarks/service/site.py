"""A service of its own as real processes, calls of it, and the figures as a table."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2 as httpx

from autotune.api.identity import Scope
from autotune.api.settings import PREFIX, Settings, load_settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.base import Value
from tests.engines.fake import FAKE_MACHINE

ROOT = Path(__file__).parents[2]
ENGINES = ROOT / "tests" / "integration" / "api"
"""Where the module with the fake engines lies."""
START_SECONDS = 300.0
HEAD = "| what | measured | goal | |\n| --- | --- | --- | --- |"
Process = subprocess.Popen[bytes]


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where a service stands, and the operator's settings for it."""

    folder: Path
    database: str
    engine: str
    """As `module:callable`."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """More settings, as variables without their prefix."""

    @property
    def settings(self) -> Settings:
        return load_settings(
            database=self.database, data=self.folder / "data", root=ROOT, engine=self.engine
        )

    @property
    def variables(self) -> dict[str, str]:
        given = {
            "DATABASE": self.database,
            "DATA": str(self.folder / "data"),
            "ROOT": str(ROOT),
            "ENGINE": self.engine,
            "MACHINE": FAKE_MACHINE.model_dump_json(),
            "QUOTAS": json.dumps({"queued": 10**6, "device_seconds": 1e12, "shortest_budget": 1}),
            **self.changes,
        }
        named = {f"{PREFIX}{name}": value for name, value in given.items()}
        return {**os.environ, "PYTHONPATH": paths_of(ROOT), **named}

    def start(self, *words: str, **variables: str) -> Process:
        """Start `autotune WORDS`, with its output in the folder."""
        return self.launch(["-m", "autotune", *words], ROOT, **variables)

    def launch(self, arguments: list[str], root: Path = ROOT, **variables: str) -> Process:
        """Start a Python process of the service, in the folder with its code."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=root,
                env={**self.variables, **variables},
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def new_key(self, database: Database, name: str, project: str = "") -> str:
        """Return a key that may do everything."""
        return Keyring(database).hand_out(name, list(Scope), project or name).secret


def paths_of(root: Path) -> str:
    """Return where Python finds the code of a folder, and the fake engines."""
    return os.pathsep.join([str(root / ENGINES.relative_to(ROOT)), str(root)])


def address_of(process: Process) -> str:
    """Return the address that a server prints when it is ready."""
    assert process.stdout  # noqa: S101 - it was started so
    line = process.stdout.readline().decode()
    found = re.search(r"http://\S+", line)
    if found is None:
        raise RuntimeError(f"no address was told, but {line!r}")
    return found[0]


def address_of_new(client: httpx.Client, asked: Mapping[str, object]) -> str:
    """Submit a job; return its path."""
    answer = client.post("/v1/tunings", json=asked)
    if not answer.is_success:
        raise RuntimeError(f"the job was refused: {answer.text}")
    return answer.headers["location"]


@contextmanager
def running(*processes: Process) -> Iterator[None]:
    """End processes when the block does."""
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def until(true: Callable[[], bool], seconds: float = START_SECONDS, pause: float = 0.02) -> float:
    """Wait until something is true; return how long it took."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"it took more than {seconds:.0f} s")
        time.sleep(pause)
    return time.monotonic() - began


class Calls(NamedTuple):
    """Paths that are asked for, in turn."""

    paths: Sequence[str]
    key: str
    body: str = ""
    """Of a POST; without any it is a GET."""


def burst(address: str, calls: Calls, seconds: float) -> tuple[list[float], bytes]:
    """Call for some seconds, at least once; return those of each call, and the last answer.

    Raises:
        RuntimeError: An answer is no success; a refusal is quick and must not count as speed.
    """
    connection = HTTPConnection(urlsplit(address).netloc)
    headers = {"Authorization": f"Bearer {calls.key}", "Content-Type": "application/json"}
    method, ends, latencies = "POST" if calls.body else "GET", time.perf_counter() + seconds, []
    for path in cycle(calls.paths):
        began = time.perf_counter()
        connection.request(method, path, calls.body or None, headers)
        answer = connection.getresponse()
        last = answer.read()
        latencies.append(time.perf_counter() - began)
        if answer.status not in {200, 202}:
            raise RuntimeError(f"{path} was answered by {answer.status}")
        if time.perf_counter() >= ends:
            break
    connection.close()
    return latencies, last


class Row(Value):
    """One figure."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None
    """None: there is no goal."""

    def __str__(self) -> str:
        word = {None: "", True: "reached", False: "MISSED"}[self.reached]
        return f"| {self.what} | {self.measured} | {self.goal} | {word} |"


def table(rows: Sequence[Row]) -> str:
    return "\n".join([HEAD, *map(str, rows)])
