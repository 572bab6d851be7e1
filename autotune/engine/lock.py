"""Keeps the machine to one search at a time: two would spoil each other's timings.

The lock is the kernel's, on a file that all users share, and falls when its process ends, however
it ends. Those who wait get it in the order in which they came: each locks a byte of the file, its
place in the queue. Who holds the machine, and who waits, stands in the file, a record for each.
Containers that share no folder do not see each other. Files that all users share are traps where
one does not look what they are, so no library's lock is used: it would write through a hard link.
"""

from __future__ import annotations

import fcntl
import math
import os
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from autotune.engine.folder import flocked
from autotune.errors import Interrupted, UsageError
from autotune.text import plural
from autotune.value import Value

PLACES = (Path("/tmp"), Path("/dev/shm"))  # noqa: S108 - the lock is made for a shared folder
"""Folders that every user may write, whatever their TMPDIR; the first that has or takes the file
counts."""
NAME = "autotune.lock"
POLL_SECONDS = 0.5
REMIND_SECONDS = 60.0
IDLE_SECONDS = 5.0
"""Of a free machine, after which whoever is first but does not take it, as if it were stopped, is
passed by."""
_LONGEST = 100
_RECORD = 4096
"""Bytes of the file for each place in the queue; the first ones are the holder's."""
_PLACES = 1000
_FLOCK = "hhqqi0q"
"""The kernel's `struct flock`: type, whence, start, length, process."""
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How to open what another user may have made."""
_WAYS = (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY)
"""How to open the file, best first. Never O_CREAT on one that exists: in a sticky folder the kernel
may refuse that for another user's file. It may appear between two attempts."""

_mine = threading.local()
"""Whether this thread holds the machine."""


class Holder(Value):
    """A search that holds the machine or waits for it, as it wrote itself down."""

    pid: int
    since: float = Field(ge=0, le=1e11)
    """Unix time in seconds."""
    what: str
    seconds: float | None = Field(default=None, ge=0, le=1e8)
    """Its budget; None where it has none."""

    def __str__(self) -> str:
        """Return it in a few words; another user may have written them."""
        shown = "".join(each for each in self.what if each.isprintable())[:_LONGEST]
        return f"process {self.pid}, started {_time(self.since)}, {shown}"


class Wait(Value):
    """For whom a search waits, and for how long at most."""

    holder: Holder | None
    """Who holds the machine; None where nobody knows."""
    before: int = 0
    """Searches that wait already and get it first."""
    until: float | None = None
    """Unix time at which its turn comes at the latest, by the budgets of those before it; None
    where one has none."""
    waited: float = 0.0
    """Seconds so far."""
    host: str = ""
    """The machine; empty for this one."""

    @property
    def holder_clause(self) -> str:
        """Who holds the machine and who comes next, as a clause."""
        holder = f"Another search ({self.holder})" if self.holder else "Another search"
        before = f"; {plural(self.before, 'other')} came before this one" if self.before else ""
        return f"{holder} is running on {self.host or 'this machine'}{before}"

    @property
    def latest(self) -> str:
        """When its turn comes at the latest, as a time of the day; empty where nobody knows."""
        return _time(self.until) if self.until else ""

    def __str__(self) -> str:
        minutes = int(self.waited // 60)
        waiting = f"waited {minutes} min so far" if minutes else "waiting for it to finish"
        turn = f"; the turn comes at {self.latest} at the latest" if self.latest else ""
        return f"{self.holder_clause}; {waiting}{turn}."


def _time(unix: float) -> str:
    """Return a time of the day, with the day if it is another one."""
    at = datetime.fromtimestamp(unix, UTC).astimezone()
    today = at.date() == datetime.now(UTC).astimezone().date()
    return f"{at:{'%H:%M' if today else '%d %b %H:%M'}}"


Notify = Callable[[Wait | str], None]
"""Is called with a wait, or with something else in a sentence."""


@contextmanager
def exclusive(what: str, notify: Notify, seconds: float | None = None) -> Iterator[None]:
    """Wait until no other search is timing on this machine, then keep others waiting.

    Where no lock can be had the search goes on without one, and the user is notified. An error that
    `notify` raises ends the wait.
    """
    if getattr(_mine, "held", False):
        raise UsageError(
            "A search is already running in this process.",
            "Start it after the first one has finished.",
        )
    claim = Claim(what, seconds, shared=False)
    with ExitStack() as held:
        held.callback(claim.release)
        wait_in_turn(claim.take, notify)
        if not claim.locks:
            notify(
                "Concurrent searches on this machine cannot be detected, because no file can be "
                f"locked in {' or '.join(map(str, PLACES))}: run one at a time."
            )
        else:
            held.callback(_mine.__dict__.clear)
            _mine.held = True
        yield


def wait_in_turn(take: Callable[[], Wait | None], notify: Notify) -> None:
    """Try to take what is shared until nobody is to be waited for."""
    due = 0.0
    try:
        while wait := take():
            if wait.waited >= due:
                notify(wait)
                due += REMIND_SECONDS
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt as exc:
        raise Interrupted("Interrupted while waiting for another search.") from exc


class Claim:
    """A machine that is asked for without waiting; claims of one name may share it."""

    def __init__(self, what: str, seconds: float | None = None, *, shared: bool = True) -> None:
        self._what = what
        self._seconds = seconds
        self._shared = shared
        self._began = time.monotonic()
        self._idle_since = math.inf
        self._file: int | None = None
        self._place = 0
        self.locks = False
        """Whether the machine is held by a lock."""

    def take(self) -> Wait | None:
        """Return of whom to wait, or None if the machine is had or no lock can be.

        Whoever waits keeps its place until the next call, or until it lets go.
        """
        file = None if self.locks else self._queued()
        if file is None:
            return None
        before = [_holder(file, each) for each in range(1, self._place) if _is_held(file, each)]
        if (not before or self._is_idle(file)) and flocked(file):
            self.locks = True
            _write(file, 0, self._signature())
            _leave_queue(file)
            return None
        holder = _holder(file)
        if self._shared and holder and holder.what == self._what and not _is_free(file):
            self.release()  # Another claim of this search has it.
            return None
        return self._waiting(holder, before)

    def release(self) -> None:
        """Let go of the machine, or of the place in the queue; may be called twice."""
        if self._file is not None:
            if self.locks:
                _write(self._file, 0, "")
            # A process that was forked meanwhile may keep the file open, and with it the locks.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            _leave_queue(self._file)
            os.close(self._file)
        self._file, self.locks = None, False

    def _queued(self) -> int | None:
        """Return the file of the lock, if one can be had, with a place in the queue for it."""
        if self._file is None:
            self._file = next(filter(None, map(_opened, PLACES)), None)
            self._place = _queue(self._file, self._signature()) if self._file else 0
        return self._file

    def _is_idle(self, file: int) -> bool:
        """Whether the machine has been free for so long that those before do not take it."""
        now = time.monotonic()
        self._idle_since = min(self._idle_since, now) if _is_free(file) else math.inf
        return now - self._idle_since >= IDLE_SECONDS

    def _signature(self) -> str:
        now = time.time()
        holder = Holder(pid=os.getpid(), since=now, what=self._what, seconds=self._seconds)
        return holder.model_dump_json()

    def _waiting(self, holder: Holder | None, before: Sequence[Holder | None]) -> Wait:
        budgets = [each and each.seconds for each in (holder, *before)]
        until = None
        if holder and all(each is not None for each in budgets):
            first, *others = (each or 0.0 for each in budgets)
            until = max(holder.since + first, time.time()) + sum(others)
        waited = time.monotonic() - self._began
        return Wait(holder=holder, before=len(before), until=until, waited=waited)


def shared_file() -> Path | None:
    """Return the file of the lock, made where it is missing; None where none can be had."""
    for folder in PLACES:
        file = _opened(folder)
        if file is not None:
            os.close(file)
            return folder / NAME
    return None


def _opened(folder: Path) -> int | None:
    """Return a descriptor of the lock file, or None where it cannot be had or locked."""
    for way in _WAYS:
        with suppress(OSError), ExitStack() as held:
            file = os.open(folder / NAME, way | SAFELY, 0o666)
            held.callback(os.close, file)
            if way & os.O_CREAT:
                os.fchmod(file, 0o666)  # whatever the mask of whoever comes first
            _check(file)
            held.pop_all()
            return file
    return None


def _check(file: int) -> None:
    """Raise OSError unless the file is what it seems, so that writing to it harms nothing else."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise FileExistsError
    fcntl.flock(file, fcntl.LOCK_UN)  # fails where the file system has no locks


def _is_free(file: int) -> bool:
    """Whether nobody holds the lock; it is not kept from whoever is first for longer than this."""
    free = flocked(file)
    if free:
        fcntl.flock(file, fcntl.LOCK_UN)
    return free


def _queue(file: int, text: str) -> int:
    """Take the place behind all others, and return it; 0 where the kernel gives none."""
    try:
        held = [each for each in range(1, _PLACES) if _is_held(file, each)]
        # Two that come at once may share one.
        place = min(max(held, default=0) + 1, _PLACES - 1)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _lock_of(fcntl.F_RDLCK, place))
    except OSError:
        return 0
    _write(file, place, text)
    return place


def _leave_queue(file: int) -> None:
    with suppress(OSError):
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _lock_of(fcntl.F_UNLCK, 0, _PLACES + 1))


def _is_held(file: int, place: int) -> bool:
    """Whether another claim has a place in the queue."""
    found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _lock_of(fcntl.F_WRLCK, place))
    kind: int = struct.unpack(_FLOCK, found)[0]
    return kind != fcntl.F_UNLCK


def _lock_of(kind: int, place: int, count: int = 1) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, place, count, 0)


def _holder(file: int, place: int = 0) -> Holder | None:
    """Return who holds the machine, or a place in the queue; None where it did not sign."""
    with suppress(OSError, ValidationError):
        return Holder.model_validate_json(os.pread(file, _RECORD, place * _RECORD))
    return None


def _write(file: int, place: int, text: str) -> None:
    # A full disk, or a file that may only be read, costs those who wait a name.
    with suppress(OSError):
        os.pwrite(file, text.encode().ljust(_RECORD)[:_RECORD], place * _RECORD)
