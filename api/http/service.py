"""What the routes call, put together from the operator's settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import Streams
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.jobs import Jobs, open_database


class Service:
    def __init__(self, settings: Settings, *, keys: bool) -> None:
        self.settings = settings
        self.registry = settings.registry()
        self.database = open_database(settings)
        self.jobs = Jobs(self.database, self.registry, settings.quotas, settings.machine)
        self.keyring = Keyring(self.database) if keys else None
        """None: callers need no key."""
        self.metrics = Metrics(self.jobs)
        self.streams = Streams(self.jobs, settings.web, self.metrics)

    def close(self) -> None:
        self.streams.close()
        self.database.close()


async def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]
