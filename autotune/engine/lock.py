"""Keeps the machine to one search at a time: two would spoil each other's timings.

The lock is the kernel's, on a file that all users share, and falls when its process ends, however
it ends. The file names the search that holds it. Containers that share no folder do not see each
other. A file that all users share may be a trap (a link to another file), so no library's lock is
used: it would write through a hard link.
"""

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from autotune.base import Value
from autotune.errors import Interrupted, UsageError

PLACES = (Path("/tmp"), Path("/dev/shm"))  # noqa: S108 - the lock is made for a shared folder
"""Folders that every user may write, whatever their TMPDIR; the first that has or takes the file
counts."""
NAME = "autotune.lock"
POLL_SECONDS = 0.5
REMIND_SECONDS = 60.0
_LONGEST = 100
_RECORD = 4096
"""Bytes of the file, which names its holder."""
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How to open a file that another user may have made."""
_WAYS = (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY)
"""How to open the file, best first. Never O_CREAT on one that exists: in a sticky folder the kernel
may refuse that for another user's file. It may appear between two attempts."""

_mine = threading.local()
"""Whether this thread holds the machine."""


class Holder(Value):
    """The search that holds the machine, as it wrote itself down."""

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
    """The search that another one waits for."""

    model_config = ConfigDict(extra="ignore")  # stored ones have a place in a queue

    holder: Holder | None
    """None where it did not sign."""
    until: float | None = None
    """Unix time at which the holder ends at the latest, by its budget."""
    waited: float = 0.0
    """Seconds so far."""
    host: str = ""
    """The machine; empty for this one."""

    @property
    def holder_clause(self) -> str:
        """The search that holds the machine, as a clause."""
        holder = f"Another search ({self.holder})" if self.holder else "Another search"
        latest = f", until {_time(self.until)} at the latest" if self.until else ""
        return f"{holder} is running on {self.host or 'this machine'}{latest}"

    def __str__(self) -> str:
        minutes = int(self.waited // 60)
        waiting = f"waited {minutes} min so far" if minutes else "waiting for it to finish"
        return f"{self.holder_clause}; {waiting}."


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
        wait_for(claim.take, notify)
        if not claim.locks:
            notify(
                "Concurrent searches on this machine cannot be detected, because no file can be "
                f"locked in {' or '.join(map(str, PLACES))}: run one at a time."
            )
        else:
            held.callback(_mine.__dict__.clear)
            _mine.held = True
        yield


def wait_for(take: Callable[[], Wait | None], notify: Notify) -> None:
    """Try to take what is shared until there is nothing to wait for."""
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
        self._file: int | None = None
        self.locks = False
        """Whether the machine is held by a lock."""

    def take(self) -> Wait | None:
        """Return what to wait for, or None if the machine is had or no lock can be."""
        if self.locks:
            return None
        if self._file is None:
            self._file = next(filter(None, map(_opened, PLACES)), None)
        if self._file is None:
            return None
        if flocked(self._file):
            self.locks = True
            now = time.time()
            me = Holder(pid=os.getpid(), since=now, what=self._what, seconds=self._seconds)
            _write(self._file, me.model_dump_json())
            return None
        holder = _holder(self._file)
        if self._shared and holder and holder.what == self._what:
            return None  # Another claim of this search has it.
        until = None
        if holder and holder.seconds is not None:
            until = max(holder.since + holder.seconds, time.time())
        return Wait(holder=holder, until=until, waited=time.monotonic() - self._began)

    def release(self) -> None:
        """Let go of the machine; may be called twice."""
        if self._file is None:
            return
        if self.locks:
            _write(self._file, "")
            # A process that was forked meanwhile may keep the file open, and with it the lock.
            fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)
        self._file, self.locks = None, False


def flocked(file: int) -> bool:
    """Return whether an open file could be locked; another lock is not waited for."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
                os.fchmod(file, 0o666)  # whatever the mask of its first user
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                continue  # It is not what it seems; to write to it would harm something else.
            fcntl.flock(file, fcntl.LOCK_UN)  # fails where the file system has no locks
            held.pop_all()
            return file
    return None


def _holder(file: int) -> Holder | None:
    """Return the search that holds the machine; None where it did not sign."""
    with suppress(OSError, ValidationError):
        return Holder.model_validate_json(os.pread(file, _RECORD, 0))
    return None


def _write(file: int, text: str) -> None:
    # A full disk, or a file that may only be read, costs those that wait a name.
    with suppress(OSError):
        os.pwrite(file, text.encode().ljust(_RECORD)[:_RECORD], 0)
