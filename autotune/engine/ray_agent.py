"""One host's part in trials that are ordered from elsewhere, and the user's code there.

An agent keeps the process of its host that has imported TensorFlow, and the worker group that this
has forked. Its caller has a deadline for each call; here nothing waits for the caller. A worker
group is ended when the caller has been silent for `UNATTENDED_SECONDS`.

Calls may come from several threads: `clock` and `reach` are answered also while another call lasts.
The user's own modules are brought to hosts that do not have them in the same place.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from autotune.engine.base import A, HostTask
from autotune.engine.load import Load
from autotune.engine.local import LocalEngine, LocalGroup, environments_of
from autotune.engine.lock import Claim, Wait
from autotune.engine.trial_run import (
    POLL,
    Environment,
    Exit,
    MemoryUse,
    Report,
    WorkersLost,
)
from autotune.errors import UsageError
from autotune.machine import boot_id, held_ports
from autotune.reason import PlainReason, Reason, ReasonKind
from autotune.strategies import Role
from autotune.versions import VERSION
from autotune.workload import Workload

UNATTENDED_SECONDS = 20.0
PIECE = 8 * 2**20
"""Bytes of a file that are handed over at a time."""
_PATIENCE = 2.0
"""Seconds to wait for a host that should answer."""
_PINGS = 9
_PIECE = bytes(2**16)
_SECONDS = 1.0
"""Longest time that data are sent for."""
_MOST = 64 * 2**20
"""Bytes that are sent at most."""


class Link(NamedTuple):
    """The network from one host to another."""

    latency: float
    """Seconds there and back."""
    bandwidth: float
    """Bytes per second."""


class News(NamedTuple):
    """The state of the processes of a worker group, with their latest reports."""

    reports: Sequence[Report] = ()
    exits: Mapping[int, Exit] = {}
    """Of all that have ended."""
    memory: MemoryUse = MemoryUse(0, 0, exceeded=False)
    lost: Reason | None = None
    """Why all are gone, if they are."""


class Order(NamedTuple):
    """An order to the processes of a run on one host."""

    files: Mapping[str, bytes]
    """What they read, by the path in their folder."""
    roles: tuple[Role, ...]
    """All of the run."""
    addresses: Sequence[str]
    """`host:port` of each."""
    members: Sequence[int]
    """Positions of those on this host."""
    memory: int | None


MOST_FILES = 2000
MOST_BYTES = 16 * 2**20
_FOREIGN = ("site-packages", "node_modules", "__pycache__")


class Code(NamedTuple):
    """The Python files that a workload may import, as they are where the tuner runs."""

    directory: str
    """The tuner's working folder."""
    files: Mapping[str, bytes]
    """By their absolute path."""
    too_many: str = ""
    """The folder that holds more than can be brought; empty where everything is here."""


def code_of(workload: Workload) -> Code:
    """Return what a workload may import from folders that are no installed packages."""
    files: dict[str, bytes] = {}
    for root in _roots(workload):
        for path in _modules(root):
            files[str(path)] = path.read_bytes()
            if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_BYTES:
                return Code(str(Path.cwd()), {}, too_many=str(root))
    return Code(str(Path.cwd()), files)


def install(code: Code, scratch: Path) -> Path:
    """Return the folder to work in on this host: the same one, or a copy.

    The same one where all files stand there as they do where the tuner runs. In a copy they have
    their paths below a folder of its own, so that paths from one to the other hold.
    """
    here = Path(code.directory)
    if here.is_dir() and all(_holds(Path(path), content) for path, content in code.files.items()):
        return here
    if code.too_many:
        raise UsageError(
            f"There is no folder {here} on this machine, and {code.too_many} holds too many "
            f"Python files to be copied here (at most {MOST_FILES}, {MOST_BYTES >> 20} MiB).",
            "Put the code in the same place on all machines, or install it there as a package.",
        )
    for path, content in code.files.items():
        place = scratch / Path(path).relative_to("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    folder = scratch / here.relative_to("/")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _roots(workload: Workload) -> list[Path]:
    if workload.script:
        return [Path(workload.script.path).resolve().parent]
    factories = workload.factories.values()
    roots = [each.root for each in factories if each.root is not None]
    roots += [root for each in factories if each.source for _, root in each.source.roots]
    return [*dict.fromkeys(Path(root).resolve() for root in roots)]


def _modules(folder: Path) -> Iterator[Path]:
    """Give the Python files below a folder, without those of environments in it."""
    for entry in sorted(folder.iterdir()):
        if entry.suffix in (".py", ".ipynb") and entry.is_file():
            yield entry
        elif entry.is_dir() and not entry.is_symlink():
            foreign = entry.name.startswith(".") or entry.name in _FOREIGN
            if not foreign and not (entry / "pyvenv.cfg").exists():
                yield from _modules(entry)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except OSError:
        return False


class Agent:
    def __init__(self, environment: Environment | None = None) -> None:
        self._engine = LocalEngine(environment)
        self._engine.start()
        self._lock = threading.Lock()
        self._ports = ExitStack()
        self._claim: Claim | None = None
        self._group: LocalGroup | None = None
        self._folder = self._engine.new_folder()
        self._news = News()
        self._ending = False
        self._heard = time.monotonic()
        threading.Thread(target=self._attend, daemon=True).start()

    def about(self) -> tuple[str, str]:
        """Return the version of its autotune, and its machine's boot, which containers share."""
        return VERSION, boot_id()

    def clock(self) -> float:
        self._heard = time.monotonic()
        return self._heard

    def reserve(self, what: str, seconds: float | None = None) -> Wait | None:
        """Keep the host from searches on it alone; return of which to wait, if one is running."""
        with self._lock:
            # Kept while it waits, because it counts the seconds.
            self._claim = self._claim or Claim(what, seconds)
            return self._claim.take()

    def bring(self, code: Code) -> None:
        with self._lock:
            os.chdir(install(code, self._engine.new_folder().path))

    def execute(self, task: HostTask[A]) -> A:
        with self._lock:
            return self._engine.execute(task)

    def load(self) -> Load | None:
        return self._engine.load()

    def hold(self, count: int) -> list[int]:
        """Return ports that are given to nothing else until the run has ended."""
        with self._lock:
            return self._ports.enter_context(held_ports(count))

    def begin(self, order: Order) -> Reason | None:
        """Start this host's processes of a run; return why the host cannot."""
        with self._lock:
            self._heard, self._ending, self._news = time.monotonic(), False, News()
            self._folder = self._engine.new_folder()
            for name, content in order.files.items():
                path = self._folder.path / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            every = environments_of(order.roles, order.addresses)
            mine = {member: every[member] for member in order.members}
            try:
                self._group = self._engine.group(self._folder, mine, order.memory)
                self._group.start()
            except WorkersLost as exc:
                return exc.reason
        return None

    def poll(self, seconds: float) -> News:
        """Return what is new, at once where something is, else after some seconds."""
        self._heard = time.monotonic()
        deadline = self._heard + seconds
        while not self._ending:
            with self._lock:
                before, self._news = self._news, self._latest()
            is_news = self._news.reports or self._news.lost or self._news.memory.exceeded
            if is_news or self._news.exits != before.exits or time.monotonic() >= deadline:
                break
        return self._news

    def last_words(self, member: int, stack: bool) -> str:  # noqa: FBT001 - a call from elsewhere
        with self._lock:
            return self._group.last_words(member, stack=stack) if self._group else ""

    def end(self) -> dict[str, int]:
        """End all processes; return the files of the run, with their sizes."""
        self._ending = True
        with self._lock:
            self._end_group()
            files = (each for each in self._folder.path.glob("*") if each.is_file())
            return {each.name: each.stat().st_size for each in files}

    def take(self, name: str, offset: int) -> bytes:
        with self._lock, (self._folder.path / name).open("rb") as file:
            file.seek(offset)
            return file.read(PIECE)

    def forget(self) -> None:
        with self._lock:
            shutil.rmtree(self._folder.path, ignore_errors=True)
            self._engine.remove_caches()

    @staticmethod
    def answer(seconds: float) -> int:
        """Let another agent reach this one, once within some seconds; return the port."""
        listener = socket.create_server(("", 0))
        listener.settimeout(seconds)
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    @staticmethod
    def reach(address: str, port: int) -> Link | None:
        """Return what the network gives to an agent that answers there; None if none does."""
        with suppress(OSError), socket.create_connection((address, port), _PATIENCE) as there:
            there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            latency = min(_ping(there) for _ in range(_PINGS))
            begun, sent = time.monotonic(), 0
            while sent < _MOST and time.monotonic() - begun < _SECONDS:
                there.sendall(_PIECE)
                sent += len(_PIECE)
            there.shutdown(socket.SHUT_WR)
            there.settimeout(_PATIENCE + _SECONDS)
            while there.recv(1):  # it closes when everything has arrived
                pass
            return Link(latency, sent / (time.monotonic() - begun))
        return None

    def close(self) -> None:
        self._ending = True
        with self._lock:
            self._end_group()
            self._engine.close()
            if self._claim is not None:
                self._claim.release()

    def _latest(self) -> News:
        if self._group is None:
            return self._news._replace(reports=())
        try:
            reports = self._group.listen(POLL)
        except WorkersLost as exc:
            return News(lost=exc.reason)
        return News(reports, self._group.exits(), self._group.memory())

    def _end_group(self) -> None:
        self._ports.close()
        group, self._group = self._group, None
        if group is not None:
            group.end()

    def _attend(self) -> None:
        while True:
            time.sleep(UNATTENDED_SECONDS / 40)
            with self._lock:
                if self._group and time.monotonic() - self._heard > UNATTENDED_SECONDS:
                    self._end_group()
                    self._news = News(
                        lost=PlainReason(kind=ReasonKind.UNATTENDED, seconds=UNATTENDED_SECONDS)
                    )


def _ping(there: socket.socket) -> float:
    begun = time.monotonic()
    there.sendall(b"?")
    there.recv(1)
    return time.monotonic() - begun


def _serve(listener: socket.socket) -> None:
    with suppress(OSError), listener, listener.accept()[0] as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there.settimeout(_PATIENCE + _SECONDS)
        for _ in range(_PINGS):
            there.sendall(there.recv(1))
        while there.recv(2**16):
            pass
