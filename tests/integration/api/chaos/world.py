"""A service of several workers, whose parts come again when they die."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import psutil
from sqlalchemy import select

from autotune.api.store.database import Database, Now
from autotune.api.store.tables import attempts, jobs
from autotune.api.work import processes
from benchmarks.service.site import ROOT, Process, Site, paths_of
from tests.engines.fake import fake_machine

SIZE = "512m"
_BALLAST = "ballast"
SKEWED = Path(__file__).parent / "skewed"
WORKER = ["-m", "autotune.api.work.worker"]
ELSEWHERE = """
from autotune.api.work import processes, worker

host = processes.this_host()
processes.this_host = lambda: f"{host} of another machine"
worker.main()
"""
"""A worker that takes processes of the other workers for those of another machine."""


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        for size in (2**20, 512):
            with (self.folder / _BALLAST).open("ab", buffering=0) as ballast, suppress(OSError):
                while True:
                    ballast.write(b"x" * size)

    def empty(self) -> None:
        (self.folder / _BALLAST).unlink(missing_ok=True)


@contextmanager
def own_disk(folder: Path) -> Iterator[Disk | None]:
    """Give a folder that is a small disk; None where the system allows no such thing."""
    folder.mkdir()
    allowed = os.geteuid() == 0 and _called(
        "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder
    )
    try:
        yield Disk(folder) if allowed else None
    finally:
        if allowed:
            # What still runs there is about to end.
            _called("umount", "--lazy", folder)


def _called(program: str, *arguments: str | Path) -> bool:
    path = shutil.which(program)
    return path is not None and subprocess.run([path, *arguments], check=False).returncode == 0


class Part:
    def __init__(self, start: Callable[[], Process]) -> None:
        self._start = start
        self.process = start()
        self.frozen = False

    def kill(self) -> None:
        self.end()
        self.process = self._start()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.frozen = False
        if self.process.stdout:
            self.process.stdout.close()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def revive(self) -> bool:
        died = self.process.poll() is not None
        if died:
            self.kill()
        return died


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@dataclass(kw_only=True)
class World:
    site: Site
    database: Database
    random: Random
    disk: Disk | None
    restart: Callable[[], None] | None
    """Restarts the database; None where it is a file."""
    devices: int
    """How many there are to be measured on, each on a machine of its own; two workers stand by
    each."""
    port: int = field(default_factory=_free_port)
    api: Part = field(init=False)
    workers: list[Part] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.api = Part(self._api)
        for number in range(self.devices * 2):
            self.workers.append(Part(partial(self._worker, number)))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _api(self) -> Process:
        words = ["-m", "autotune", "serve", "api", "--port", str(self.port), "--no-keys"]
        return self.site.launch(words, ROOT, PYTHONPATH=paths_of(ROOT))

    def _worker(self, number: int) -> Process:
        # Of two that stand by the same devices one has a clock that is wrong by an hour.
        skew = {} if number % 2 else {"AUTOTUNE_TEST_CLOCK": str(3600 * (1 - number % 4))}
        machine = number // 2
        given = {
            "AUTOTUNE_SERVICE_DEVICES": f"bench-{machine}",
            "AUTOTUNE_SERVICE_MACHINE": fake_machine(cpus=2 + machine).model_dump_json(),
            "PYTHONPATH": os.pathsep.join([str(SKEWED), paths_of(ROOT)]),
            **skew,
        }
        return self.site.launch(["-c", ELSEWHERE] if machine else WORKER, ROOT, **given)

    def holding(self) -> list[Part]:
        query = select(attempts.c.worker).join(jobs, jobs.c.id == attempts.c.job_id)
        current = (jobs.c.attempt == attempts.c.number, jobs.c.expires_at > Now())
        with self.database.reading() as connection:
            names = connection.execute(query.where(*current)).scalars().all()
        pids = {int(name.split("-")[-2]) for name in names}
        return [each for each in self.workers if each.process.pid in pids and not each.frozen]

    def family(self) -> tuple[list[psutil.Process], list[psutil.Process]]:
        found, workers = living(), {each.process.pid for each in self.workers}
        searches = [process for process, parent in found.items() if parent in workers]
        pids = {each.pid for each in searches}
        return searches, [process for process, parent in found.items() if parent in pids]

    def serving(self) -> list[Part]:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return [self.api]
        return []

    def close(self) -> None:
        for each in (self.api, *self.workers):
            each.end()


def living() -> dict[psutil.Process, int]:
    return {each: parent for each, parent, _ in _marked()}


def markers_alive() -> set[str]:
    return {marker for _, _, marker in _marked()}


def _marked() -> list[tuple[psutil.Process, int, str]]:
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            marker = each.environ().get(processes.MARKER)
            if marker and each.status() != psutil.STATUS_ZOMBIE:
                found.append((each, each.ppid(), marker))
    return found
