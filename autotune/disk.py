"""Writes files, and says why a disk does not take them."""

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
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


def check_room(folder: Path, least: int) -> None:
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


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be written: {in_words(exc)}.", "Choose another path."
        ) from exc


def put_texts(folder: Path, texts: Mapping[str, str | None]) -> None:
    """Replace files of a folder, by name, which is made if it does not exist; None removes one."""
    for error in put_each(folder, texts).values():
        raise OutputError(
            f"{folder} cannot be written: {in_words(error)}.", "Choose another --out."
        ) from error


def put_each(folder: Path, texts: Mapping[str, str | None]) -> dict[str, OSError]:
    """Replace those files of a folder that can be; return why the others, by name, cannot be."""
    failed = {}
    for name, text in texts.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _put(folder / name, text)
        except OSError as exc:
            failed[name] = exc
    return failed


def _put(path: Path, text: str | None) -> None:
    """Replace a file at once, so that nobody reads half of it; None removes it."""
    if text is None:
        path.unlink(missing_ok=True)
        return
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, "utf-8")
        os.replace(draft, path)  # noqa: PTH105 - the atomic one, named as such
    except OSError:
        with suppress(OSError):
            draft.unlink()  # A full disk may take a smaller file then.
        raise
