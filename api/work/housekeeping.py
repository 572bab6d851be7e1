"""What a worker does beside its jobs: it inspects its machine, and removes what jobs have left."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from autotune.api.log import log
from autotune.api.settings import Settings
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.store.usage import AT_ONCE, remove_ended, still_there
from autotune.api.store.workers import known_machine
from autotune.api.values import OrphanedProcesses
from autotune.api.work import processes
from autotune.engine.resolve import new_engine
from autotune.machine import Machine
from autotune.wire.errors import DatabaseUnavailable


def at_most_every(
    seconds: float, do: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """Return what does something, but not again before its time; an error puts nothing off."""
    due = -math.inf

    def do_if_due() -> None:
        nonlocal due
        if clock() >= due:
            do()
            due = clock() + seconds

    return do_if_due


def sweep(database: Database, host: str) -> bool:
    """End all that is left on this host of attempts that are over; return whether nothing is.

    Both their recorded process and whatever carries their marker count, because a process that
    was recorded may be gone and its own children not.
    """
    clean = True
    for each in attempts.orphans(database, host):
        if processes.end_all(partial(_left, each)):
            attempts.swept(database, each)
        else:
            clean = False
            what = "Processes of an earlier attempt cannot be killed."
            log(what, logging.ERROR, job=each.job_id, attempt=each.attempt)
    return clean


def remove_old(database: Database, folder: Path, seconds: float) -> None:
    """Remove jobs that ended before a certain time, then the files that no job has any more.

    The files come last, and by what is in the database: so what a crash left in between goes the
    next time, and what lies on this host of a job that another one removed goes as well.
    """
    while remove_ended(database, seconds) == AT_ONCE:
        pass
    old = {each.name: each for each in _unused(folder, time.time() - seconds)}
    for name in old.keys() - still_there(database, list(old)):
        shutil.rmtree(old[name], ignore_errors=True)


def _left(what: OrphanedProcesses) -> list[psutil.Process]:
    found = set(processes.marked(what.marker))
    return [*(found | set(processes.recorded(what.identity) if what.identity else ()))]


def _unused(folder: Path, since: float) -> Iterator[Path]:
    with suppress(OSError):
        for each in folder.iterdir():
            if each.is_dir() and each.stat().st_mtime < since:
                yield each


class Inspection:
    """Finds out what a machine is. To be used by one thread."""

    def __init__(self, settings: Settings, devices: str, database: Database) -> None:
        self._engine = settings.engine
        self._sure = settings.machine is not None
        self.machine = settings.machine
        if self.machine is None:
            with suppress(DatabaseUnavailable):
                self.machine = known_machine(database, devices)

    def inspect(self) -> None:
        """Inspect the machine, unless that was done, or a search is measuring on it now.

        This imports TensorFlow and takes seconds; until it succeeds the last known machine counts.
        """
        if self._sure:
            return
        try:
            engine = new_engine(self._engine)
            with engine.reserved("inspecting the machine", _give_up), engine:
                found = engine.machine()
            self.take(found)
        except _MeasuredOn as exc:
            log("Inspecting the machine is delayed.", why=str(exc))
        except Exception as exc:  # noqa: BLE001 - an engine may fail in any way
            kind = type(exc).__name__
            log("Inspecting the machine failed.", logging.ERROR, error=kind, text=str(exc))

    def take(self, seen: Machine) -> None:
        if not self._sure:
            self._sure, self.machine = True, seen


class _MeasuredOn(Exception):
    """A search measures on the machine."""


def _give_up(why: object) -> None:
    raise _MeasuredOn(str(why))
