"""What the routes call, put together from the operator's settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from autotune.api.errors import MachineUnknown
from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import Streams
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.jobs import Jobs, open_database
from autotune.api.store.workers import known_machine
from autotune.machine import Machine


class Service:
    def __init__(self, settings: Settings, *, keys: bool) -> None:
        self.settings = settings
        self.registry = settings.registry()
        self.database = open_database(settings)
        self.devices = settings.named_devices()
        self.jobs = Jobs(self.database, self.registry, settings.quotas, settings.machine)
        self.keyring = Keyring(self.database) if keys else None
        """None: callers need no key."""
        self.metrics = Metrics()
        self.streams = Streams(self.jobs, settings.web, self.metrics)

    def machine(self) -> Machine:
        """Return what jobs are measured on: these devices, or else those of any worker."""
        found = self.settings.machine or known_machine(self.database, self.devices)
        if found is None:
            found = next((each.machine for each in self.jobs.workers(None) if each.machine), None)
        if found is None:
            raise MachineUnknown(
                "No worker has inspected the machine yet.",
                "Try again in a few seconds; if it recurs, check that a worker runs.",
            )
        return found

    def close(self) -> None:
        self.streams.close()
        self.database.close()


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]
