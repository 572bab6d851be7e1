"""What is done about jobs that are older than the operator wants them kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autotune.api.store.database import Database
from autotune.api.store.jobs import AT_ONCE, remove_ended, still_there


def remove_old(database: Database, folder: Path, seconds: float) -> None:
    """Remove jobs that ended before a certain time, then the files that no job has any more.

    The files come last, and by what is in the database: so what a crash left in between goes the
    next time, and what lies on this host of a job that another one removed goes as well.

    Args:
        database: Where the jobs are.
        folder: Where each has a folder of its own on this host.
        seconds: The age; a folder that was used since is left alone.
    """
    while remove_ended(database, seconds) == AT_ONCE:
        pass
    old = list(_unused(folder, time.time() - seconds))
    for first in range(0, len(old), AT_ONCE):
        some = {each.name: each for each in old[first : first + AT_ONCE]}
        for name in some.keys() - still_there(database, list(some)):
            shutil.rmtree(some[name], ignore_errors=True)


def _unused(folder: Path, since: float) -> Iterator[Path]:
    """Yield the jobs' folders in which nothing was begun since a moment."""
    with suppress(OSError):
        for each in folder.iterdir():
            if each.is_dir() and each.stat().st_mtime < since:
                yield each
