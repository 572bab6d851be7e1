"""A service of its own: a folder, a database, keys, and its parts as real processes."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2 as httpx

from autotune.api.identity import Scope
from autotune.api.settings import PREFIX, Settings, load_settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from tests.engines.fake import FAKE_MACHINE

ROOT = Path(__file__).parents[2]
ENGINES = ROOT / "tests" / "integration" / "api"
"""Where the module with the fake engines lies."""
START_SECONDS = 300.0
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
