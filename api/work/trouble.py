"""Why a search ended without a result: by itself, or because the service's host failed it."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

from autotune.api.work.messages import GaveUp, Stuck
from autotune.errors import AutotuneError, EngineError, OutputError

UNUSABLE = "The service's disk or database is unavailable; contact the operator."
NO_ENGINE = "The service's engine could not run the search; contact the operator."
LONGEST_DETAIL = 2000
_OF_THE_DISK = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO}
)
_OF_SQLITE = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)


def last_word(error: Exception) -> GaveUp | Stuck | None:
    """Return how a search tells that it ended by an error; None if it does not understand it.

    What is wrong with the workload or its measurement is for whoever asked. What is wrong with
    the host is for the operator: whoever asked gets a fixed sentence.
    """
    if isinstance(error, OutputError):
        return Stuck(detail=detail(error))
    if isinstance(error, AutotuneError) and not isinstance(error, EngineError):
        return GaveUp(reason=str(error))
    if any(map(_is_of_the_disk, _roots(error))):
        return Stuck(detail=detail(error))
    if isinstance(error, EngineError):
        return GaveUp(reason=NO_ENGINE, detail=detail(error))
    return None


def detail(error: BaseException) -> str:
    """Return the text of an error in one line, for the log."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_DETAIL]


def _roots(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and all that it goes back to."""
    while error is not None:
        yield error
        error = error.__cause__


def _is_of_the_disk(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        # Of its code the lowest byte; the others tell more closely what it is.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_SQLITE
    return isinstance(error, OSError) and error.errno in _OF_THE_DISK
