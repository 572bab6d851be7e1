"""What the routes call, put together from the operator's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from autotune.api.catalog import Catalog
from autotune.api.http.access import Guard
from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import Streams
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs, open_database


@dataclass(frozen=True, kw_only=True)
class Service:
    database: Database
    jobs: Jobs
    catalog: Catalog
    keyring: Keyring | None
    """None: callers need no key."""
    guard: Guard
    metrics: Metrics
    streams: Streams

    def close(self) -> None:
        self.streams.close()
        self.database.close()


def open_service(settings: Settings, *, keys: bool) -> Service:
    registry = settings.registry()
    database = open_database(settings)
    catalog = Catalog(settings, registry, database)
    jobs = Jobs(database, registry, settings.quotas, catalog.machines)
    keyring = Keyring(database) if keys else None
    metrics = Metrics()
    return Service(
        database=database,
        jobs=jobs,
        catalog=catalog,
        keyring=keyring,
        guard=Guard(keyring, settings.proxy),
        metrics=metrics,
        streams=Streams(jobs, settings.web, metrics),
    )


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def jobs_of(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.service.jobs
    return jobs


Here = Annotated[Service, Depends(service_of)]
TheJobs = Annotated[Jobs, Depends(jobs_of)]
