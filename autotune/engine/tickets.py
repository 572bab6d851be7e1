"""The order in which searches that wait for a machine get it: first come, first served.

A ticket is a file in a folder that all users share, named by when it was drawn. Its process keeps
it locked, so that a ticket falls with its process. Where none can be drawn nobody is before.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How to open what another user may have made."""
_LONGEST = 4096


class Ticket:
    """A place in the queue for a lock, kept until it is given back.

    Args:
        lock: The file of the lock; each has a queue of its own.
        folder: Holds it.
        text: What those who come later may read of whoever waits.
    """

    def __init__(self, lock: int, folder: Path, text: str) -> None:
        self._queue: int | None = None
        self._file: int | None = None
        # Of the machine's clock, which no process sets back.
        self._name = f"{time.monotonic_ns():020d}-{os.getpid()}"
        with suppress(OSError):
            self._queue = _shared(folder / _queue_name(lock))
            self._file = self._drawn(self._queue, text)

    def before(self) -> list[str]:
        """Return the texts of those who came earlier and still wait, the first first."""
        if self._queue is None or self._file is None:
            return []
        return list(_waiting(self._queue, self._name))

    def give_back(self) -> None:
        """Let the next one come; may be called twice."""
        if self._file is not None:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._queue)
            # A process that was forked meanwhile may keep the file open.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            os.close(self._file)
        if self._queue is not None:
            os.close(self._queue)
        self._file = self._queue = None

    def _drawn(self, queue: int, text: str) -> int:
        """Make the file under another name, because without its lock it would count as left."""
        draft = f".{self._name}"
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, 0o644, dir_fd=queue)
        try:
            os.fchmod(file, 0o644)  # whatever the mask
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(file, text.encode())
            os.rename(draft, self._name, src_dir_fd=queue, dst_dir_fd=queue)
        except OSError:
            os.close(file)
            raise
        return file


def _queue_name(lock: int) -> str:
    found = os.fstat(lock)
    return f"autotune-queue-{found.st_dev:x}-{found.st_ino:x}"


def _shared(folder: Path) -> int:
    """Return a descriptor of a folder in which every user may make files, and remove their own."""
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | SAFELY)


def _waiting(queue: int, name: str) -> Iterator[str]:
    """Yield the texts of the tickets before one, and remove what nobody holds any more."""
    drawn = (each for each in os.listdir(queue) if each[0] != ".")
    for each in sorted(drawn):
        if each >= name:
            return
        with suppress(OSError):  # Gone meanwhile, or a trap.
            if (text := _held(queue, each)) is not None:
                yield text
            else:
                os.unlink(each, dir_fd=queue)


def _held(queue: int, name: str) -> str | None:
    """Return the text of a ticket that is held; None of one that was left."""
    file = os.open(name, os.O_RDONLY | SAFELY, dir_fd=queue)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(file, _LONGEST, 0).decode(errors="replace")
    finally:
        os.close(file)
    return None
