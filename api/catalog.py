"""What may be asked for here: workloads, spaces, and the machine that they run on."""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Event

from autotune.api.errors import DatabaseUnavailable, MachineUnknown, UnreadableRecord
from autotune.api.log import say
from autotune.api.settings import Settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, remember_machine
from autotune.api.workloads import Registry
from autotune.machine import Machine
from autotune.run.resolve import new_engine
from autotune.space import Space, space_for

AGAIN_SECONDS = 60.0
"""From a look that failed to the next one."""


class Catalog:
    """Knows what may be asked for. Threads may share it; none of them is ever kept waiting.

    Args:
        settings: The operator's.
        registry: The workloads that they register.
        database: Keeps what was seen at the last look; None looks anew.
    """

    def __init__(
        self, settings: Settings, registry: Registry, database: Database | None = None
    ) -> None:
        self.workloads = registry.workloads
        """The workloads by name."""
        self.devices = settings.named_devices()
        """The name of what jobs are measured on."""
        self.quotas = settings.quotas
        """What one project may have."""
        self._database = database
        self._engine = settings.engine
        self._machine = settings.machine
        self._sure = settings.machine is not None
        self._failed = False
        self._closed = Event()

    def machine(self) -> Machine:
        """Return what jobs are measured on, if it is known by now.

        Raises:
            MachineUnknown: It was not looked at yet, or the look failed.
        """
        if self._machine is not None:
            return self._machine
        if self._failed:
            raise MachineUnknown(
                "The engine could not inspect the machine; it retries every minute.",
                "Contact the operator.",
            )
        raise MachineUnknown(
            "The machine has not been inspected yet.", "Try again in a few seconds."
        )

    def machine_if_known(self) -> Machine | None:
        """Return what jobs are measured on, or None while it is not known."""
        return self._machine

    def space(self) -> Space:
        """Return the space that `auto` stands for.

        Raises:
            MachineUnknown: The machine is not known.
        """
        return space_for(self.machine())

    def look(self, again: float = AGAIN_SECONDS) -> None:
        """Look at the machine until it is known: a task for a thread in the background.

        A look imports TensorFlow and takes seconds, so it waits while a search is timed here; until
        then what was seen at an earlier one counts.

        Args:
            again: Seconds from a look that failed to the next one.
        """
        self._machine = self._machine or self._remembered()
        while not self._sure and not self._closed.is_set():
            try:
                self._take(self._looked())
            except Exception as exc:  # noqa: BLE001 - an engine may fail in any way
                self._failed = True
                kind = type(exc).__name__
                say("Inspecting the machine failed.", logging.ERROR, error=kind, text=str(exc))
                self._closed.wait(again)

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _remembered(self) -> Machine | None:
        if self._database is not None:
            with suppress(DatabaseUnavailable, UnreadableRecord):
                return known_machine(self._database, self.devices)
        return None

    def _take(self, seen: Machine | None) -> None:
        if seen is not None:
            self._machine, self._sure = seen, True
            if self._database is not None:
                with suppress(DatabaseUnavailable):
                    remember_machine(self._database, self.devices, seen)

    def _looked(self) -> Machine | None:
        engine = new_engine(self._engine)
        with engine.reserved("inspecting the machine", _tell):
            if self._closed.is_set():
                return None
            with engine:
                return engine.machine()


def _tell(text: str) -> None:
    say("Inspecting the machine is delayed.", why=text)
