"""Whether a disk takes what is written, and what is said where it does not."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autotune.errors import OutputError, in_words

RESULT_BYTES = 100_000
"""That the files of a small result take."""
STUDY_BYTES = 120_000
"""That a study takes in a database of its own, before its first trial."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE}
_GONE = {errno.ENOENT, errno.ENOTDIR}
NEXT_STEP = "Free some space there, or choose another folder (--out; TMPDIR for temporary files)."
EXIT_CODE = os.EX_IOERR
"""Of a process of a trial whose files cannot be written, where it would say so."""


def is_of_the_disk(error: BaseException) -> bool:
    """Whether an error says that a disk is full, may only be read, or fails."""
    return isinstance(error, OSError) and error.errno in _FULL | _CLOSED


def is_of_a_folder(error: BaseException) -> bool:
    """Whether an error says that, or that a folder is gone."""
    return is_of_the_disk(error) or (isinstance(error, OSError) and error.errno in _GONE)


def check_room(folder: Path, least: int = RESULT_BYTES) -> None:
    """Make sure that a folder takes some bytes more, by writing them: only that sees a quota."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            left = least
            while left > 0:
                left -= file.write(bytes(left))
    except OSError as exc:
        raise OutputError(
            f"{folder} does not take {least / 1e6:.1f} MB more: {in_words(exc)}.", NEXT_STEP
        ) from exc


def trouble(error: OSError, folder: Path) -> OutputError:
    """Return what is wrong with a disk: with the file that the error names, or with a folder."""
    place = os.fsdecode(error.filename) if error.filename else f"{folder} or that of TMPDIR"
    return OutputError(f"{place} cannot be used: {in_words(error)}.", NEXT_STEP)


@contextmanager
def named(folder: Path) -> Iterator[None]:
    """Raise an error of the disk, to which is written in a folder, as one that names it."""
    try:
        yield
    except OSError as exc:
        if not is_of_a_folder(exc):
            raise
        raise trouble(exc, folder) from exc
