"""Keeps the machine to one search at a time: two would spoil each other's timings.

The lock is the kernel's, on a file that all users share, and falls when its process ends, however
it ends. Containers that share no folder do not see each other.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from autotune.errors import Interrupted, UsageError
from autotune.run.engine import Tell
from autotune.value import Value

PLACES = (Path("/tmp"), Path("/dev/shm"))  # noqa: S108 - the lock is made for a shared folder
"""Folders that every user may write, whatever their TMPDIR; the first that has or takes the file
counts."""
NAME = "autotune.lock"
POLL_SECONDS = 0.5
REMIND_SECONDS = 60.0
_LONGEST = 100
_WAYS = (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY)
"""How to open the file, best first. Never O_CREAT on one that exists: in a sticky folder the kernel
may refuse that for another user's file. It may appear between two attempts."""
_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_mine = threading.local()
"""Whether this thread holds the machine."""


class Holder(Value):
    """The search that holds the machine, as it wrote itself down."""

    pid: int
    since: float = Field(ge=0, le=1e11)
    """Unix time in seconds."""
    what: str

    def __str__(self) -> str:
        """Return it in a few words; another user may have written them."""
        began = datetime.fromtimestamp(self.since, UTC).astimezone()
        today = began.date() == datetime.now(UTC).astimezone().date()
        shown = "".join(each for each in self.what if each.isprintable())[:_LONGEST]
        return f"process {self.pid}, started {began:{'%H:%M' if today else '%d %b %H:%M'}}, {shown}"


@contextmanager
def exclusive(what: str, tell: Tell, places: Sequence[Path] = PLACES) -> Iterator[None]:
    """Wait until no other search is timing on this machine, then keep others waiting.

    Where no lock can be had the search goes on without one, and the user is told.

    Args:
        what: Names this search to those that wait for it.
        tell: Is told at once of whom it waits for, and again each minute.
        places: Where the file may be.

    Raises:
        Interrupted: Ctrl-C was pressed while waiting.
        UsageError: This thread is timing already, and would wait for itself.
    """
    if getattr(_mine, "held", False):
        raise UsageError(
            "A search is already running in this process.",
            "Start it after the first one has finished.",
        )
    with ExitStack() as held:
        file = _first(places)
        if file is None:
            tell(
                "Concurrent searches on this machine cannot be detected, because no file can be "
                f"locked in {' or '.join(map(str, places))}: run one at a time."
            )
        else:
            held.callback(os.close, file)
            _wait(file, tell)
            held.callback(_release, file)
            held.callback(_mine.__dict__.clear)
            _mine.held = True
            _sign_for(file, what)
        yield


class Claim:
    """A machine that is asked for without waiting, and kept until it is let go of.

    Args:
        what: Names the search. Several claims of one search share a machine.
        places: Where the file may be.
    """

    def __init__(self, what: str, places: Sequence[Path] = PLACES) -> None:
        self._what = what
        self._places = places
        self._held = ExitStack()

    def take(self) -> str | None:
        """Return of whom to wait, or None if the machine is had or no lock can be."""
        with ExitStack() as held:
            file = _first(self._places)
            if file is None:
                return None
            held.callback(os.close, file)
            if not _locked(file):
                holder = _holder(file)
                shared = holder is not None and holder.what == self._what
                return None if shared else _notice(holder, 0.0)
            _sign_for(file, self._what)
            held.callback(_release, file)
            self._held = held.pop_all()
        return None

    def release(self) -> None:
        """Let go of the machine; may be called twice."""
        self._held.close()


def _first(places: Sequence[Path]) -> int | None:
    """Return a descriptor of the lock file in the first folder that has or takes it."""
    return next((each for each in map(_opened, places) if each is not None), None)


def _opened(folder: Path) -> int | None:
    """Return a descriptor of the lock file, or None where it cannot be had or locked."""
    for way in _WAYS:
        with suppress(OSError), ExitStack() as held:
            file = os.open(folder / NAME, way | _SAFELY, 0o666)
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


def _wait(file: int, tell: Tell) -> None:
    began, due = time.monotonic(), 0.0
    try:
        while not _locked(file):
            waited = time.monotonic() - began
            if waited >= due:
                tell(_notice(_holder(file), waited))
                due += REMIND_SECONDS
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt as exc:
        raise Interrupted("Interrupted while waiting for another search.") from exc


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _notice(holder: Holder | None, waited: float) -> str:
    who = f"Another search ({holder})" if holder else "Another search"
    minutes = int(waited // 60)
    wait = f"waiting for {minutes} min" if minutes else "waiting for it to finish"
    return f"{who} is running on this machine; {wait}. Press Ctrl-C to stop."


def _holder(file: int) -> Holder | None:
    try:
        return Holder.model_validate_json(os.pread(file, 4096, 0))
    except (OSError, ValidationError):
        return None


def _sign(file: int, text: str) -> None:
    # A full disk, or a file that may only be read, costs those who wait a name.
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, text.encode(), 0)


def _sign_for(file: int, what: str) -> None:
    _sign(file, Holder(pid=os.getpid(), since=time.time(), what=what).model_dump_json())


def _release(file: int) -> None:
    _sign(file, "")
    # A process that was forked meanwhile may keep the file open, and with it the lock.
    fcntl.flock(file, fcntl.LOCK_UN)
