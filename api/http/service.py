"""What the routes call, put together from the operator's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from autotune.api.errors import MachineUnknown
from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import Streams
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs, open_database
from autotune.api.store.workers import known_machine
from autotune.api.workloads import Registry
from autotune.machine import Machine


@dataclass(frozen=True, kw_only=True)
class Service:
    settings: Settings
    database: Database
    registry: Registry
    devices: str
    jobs: Jobs
    keyring: Keyring | None
    """None: callers need no key."""
    metrics: Metrics
    streams: Streams

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


def open_service(settings: Settings, *, keys: bool) -> Service:
    registry = settings.registry()
    database = open_database(settings)
    jobs = Jobs(database, registry, settings.quotas, settings.machine)
    metrics = Metrics()
    return Service(
        settings=settings,
        database=database,
        registry=registry,
        devices=settings.named_devices(),
        jobs=jobs,
        keyring=Keyring(database) if keys else None,
        metrics=metrics,
        streams=Streams(jobs, settings.web, metrics),
    )


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]
