"""Inspects the machine on which a worker's trials run."""

from __future__ import annotations

import logging
from contextlib import suppress

from autotune.api.errors import DatabaseUnavailable, UnreadableRecord
from autotune.api.log import log
from autotune.api.settings import Settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, remember_machine
from autotune.engine.resolve import new_engine
from autotune.machine import Machine


class Inspection:
    """Finds out what a machine is. To be used by one thread."""

    def __init__(self, settings: Settings, devices: str, database: Database) -> None:
        self._database = database
        self._devices = devices
        self._engine = settings.engine
        self._sure = settings.machine is not None
        self.machine = settings.machine or self._remembered()
        """What the machine is, as far as that is known."""

    def inspect(self) -> None:
        """Inspect the machine, unless that was done, or a search is measuring on it now.

        This imports TensorFlow and takes seconds; until it succeeds the last known machine counts.
        """
        if self._sure:
            return
        try:
            self.take(self._inspected())
        except _MeasuredOn as exc:
            log("Inspecting the machine is delayed.", why=str(exc))
        except Exception as exc:  # noqa: BLE001 - an engine may fail in any way
            kind = type(exc).__name__
            log("Inspecting the machine failed.", logging.ERROR, error=kind, text=str(exc))

    def take(self, seen: Machine) -> None:
        """Record the machine as an inspection, or a search, has found it."""
        if not self._sure:
            self._sure, self.machine = True, seen
            with suppress(DatabaseUnavailable):
                remember_machine(self._database, self._devices, seen)

    def _remembered(self) -> Machine | None:
        with suppress(DatabaseUnavailable, UnreadableRecord):
            return known_machine(self._database, self._devices)
        return None

    def _inspected(self) -> Machine:
        engine = new_engine(self._engine)
        with engine.reserved("inspecting the machine", _give_up), engine:
            return engine.machine()


class _MeasuredOn(Exception):
    """A search measures on the machine."""


def _give_up(why: object) -> None:
    raise _MeasuredOn(str(why))
