"""What may be asked for here: workloads, spaces, and the machines that they run on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from autotune.api.errors import DatabaseUnavailable, MachineUnknown, UnreadableRecord
from autotune.api.needs import Needs
from autotune.api.settings import Settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, there
from autotune.api.workloads import Registered, Registry
from autotune.machine import Machine
from autotune.space import Space, space_for


class Catalog:
    """Knows what may be asked for. Threads may share it.

    The workers inspect their machines and record what they are.
    """

    def __init__(self, settings: Settings, registry: Registry, database: Database) -> None:
        self._registry = registry
        self.devices = settings.named_devices()
        """The name of what jobs are measured on here."""
        self.quotas = settings.quotas
        """What one project may have."""
        self._database = database
        self._declared = settings.machine

    @property
    def workloads(self) -> Mapping[str, Registered]:
        return self._registry.workloads

    def machine(self) -> Machine:
        """Return what jobs are measured on: these devices, or else those of any worker."""
        found = self._declared or self._seen()
        if found is None:
            raise MachineUnknown(
                "No worker has inspected the machine yet.",
                "Try again in a few seconds; if it recurs, check that a worker runs.",
            )
        return found

    def machines(self, needs: Needs) -> tuple[Machine, ...]:
        if self._declared is not None:
            return (self._declared,)
        with self._database.reading() as connection:
            found = there(connection)
        able = [each.machine for each in found if needs.met_by(each.machine, each.labels)]
        return tuple(each for each in able if each is not None)

    def space(self) -> Space:
        return space_for(self.machine())

    def _seen(self) -> Machine | None:
        with suppress(DatabaseUnavailable, UnreadableRecord):
            found = known_machine(self._database, self.devices)
            if found is not None:
                return found
        with self._database.reading() as connection:
            others = [each.machine for each in there(connection)]
        return next((each for each in others if each is not None), None)
