"""A copy of the working folder, so that a script that is timed reads its files and changes none."""

import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from autotune.engine.events import SCRATCH

LARGEST_COPY = 2**20
"""Bytes. A larger file is linked, and may only be read."""
MOST_BYTES = 32 * 2**20
"""That are copied in all."""
MOST_ENTRIES = 2000
MOST_BESIDE = 500
"""Folders beyond these are linked whole, of the working folder and of what lies beside it."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "os.truncate", "os.mkdir")


class MayNotChange(PermissionError):
    """A script would change a file of the original."""


class Copy(NamedTuple):
    path: Path
    original: Path

    def counterpart(self, path: Path) -> Path:
        """Return where something of the original lies in the copy; what is elsewhere stays."""
        if not path.is_relative_to(self.original):
            return path
        return self.path / path.relative_to(self.original)


@contextmanager
def working_copy(*kept: Path) -> Iterator[Copy]:
    """Work in a copy of the working folder, and let Python change nothing in the original.

    What lies beside the original has a copy too, because scripts read `../data`. What a library of
    C writes by an absolute path, or into a large file, escapes this.
    """
    original = Path.cwd().resolve()
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH)).resolve()
    copy = scratch / (original.name or "work")
    copy.mkdir()
    _fill(copy, original, MOST_ENTRIES)
    # Beside a folder of the root, such as the /app of a container, lies the system.
    beside = 0 if original.parent == Path(original.anchor) else MOST_BESIDE
    _fill(scratch, original.parent, beside, without=original)
    guard = Guard(original, (scratch, Path(tempfile.gettempdir()).resolve(), *kept))
    sys.addaudithook(guard.hear)
    os.chdir(copy)
    try:
        yield Copy(copy, original)
    finally:
        guard.active = False
        os.chdir(original)


class Guard:
    """Refuses changes in a folder. Python cannot be made to forget it, so it has a switch."""

    def __init__(self, folder: Path, kept: tuple[Path, ...]) -> None:
        self.active = True
        self._folder = f"{folder}/"
        self._kept = tuple(f"{each}/" for each in kept)

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active or (event != "open" and event not in _CHANGES):
            return
        path = arguments[0]
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return
        if isinstance(path, str | bytes | os.PathLike) and self._guards(os.fsdecode(path)):
            raise MayNotChange(
                f"While it is timed, a script may not change {os.fsdecode(path)}; what it writes "
                "relative to its working folder goes into a copy"
            )

    def _guards(self, path: str) -> bool:
        real, scratch = os.path.realpath(path), self._kept[0]
        inside = real.startswith(self._folder) and not real.startswith(self._kept)
        # As it is written, it lies beside the copy.
        written = os.path.abspath(path)  # noqa: PTH100 - which follows no link
        linked = written.startswith(scratch) and not real.startswith(scratch)
        return (inside or linked) and "/__pycache__/" not in real


def _fill(copy: Path, original: Path, most: int, *, without: Path | None = None) -> None:
    """Copy small files and link large ones, the nearest first; folders beyond `most` entries whole.

    `without` is a folder that has its copy already; of the others, which a script may never look
    at, one that holds more than `most` is linked whole.
    """
    folders, entries, copied = deque([original]), 0, 0
    while folders:
        folder = folders.popleft()
        for entry in _listed(folder):
            if Path(entry.path) == without:
                continue
            place, entries = copy / Path(entry.path).relative_to(original), entries + 1
            linked = entries > most or entry.name.startswith((".", "__pycache__"))
            linked = linked or (without is not None and _holds_more(entry, most))
            if entry.is_dir(follow_symlinks=False) and not linked:
                if not copy.is_relative_to(entry.path):
                    place.mkdir()
                    folders.append(Path(entry.path))
            elif _is_small(entry) and copied < MOST_BYTES:
                copied += entry.stat().st_size
                shutil.copy2(entry.path, place)
            else:
                place.symlink_to(entry.path)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:  # It may not be ours to read.
        return sorted(found, key=lambda each: each.name)
    return []


def _holds_more(entry: os.DirEntry[str], count: int) -> bool:
    # It may be no folder, or not ours to read.
    with suppress(OSError), os.scandir(entry.path) as found:
        return any(True for _ in islice(found, count, None))
    return False


def _is_small(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file() and entry.stat().st_size <= LARGEST_COPY
    except OSError:
        return False
