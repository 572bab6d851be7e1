"""The service that the routes call: jobs, metrics and event streams, by the operator's settings."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import prometheus_client as prometheus
from fastapi import Depends, Request
from fastapi.sse import format_sse_event
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.concurrency import run_in_threadpool

from autotune.api.log import log
from autotune.api.settings import Settings, Web
from autotune.api.store.auth import Keyring
from autotune.api.store.jobs import Jobs, open_database
from autotune.text import plural
from autotune.wire.errors import (
    DatabaseUnavailable,
    KeyRefused,
    NotFound,
    ScopeMissing,
    ServiceError,
    TooManyStreams,
)
from autotune.wire.events import Ended
from autotune.wire.jobs import State


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


METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts what is answered, and asks the store for the rest whenever it is read."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._registry = CollectorRegistry()
        self._requests = prometheus.Counter(
            "autotune_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._latency = Histogram(
            "autotune_http_request_seconds",
            "Time to the complete response; for event streams, their duration.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self.streams = Gauge(
            "autotune_http_event_streams", "Open event streams.", registry=self._registry
        )
        self._registry.register(self)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, status).inc()
        self._latency.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield what is known of the jobs; the registry calls this."""
        try:
            found = [*_job_metrics(self._jobs)]
        except DatabaseUnavailable:
            log("The metrics do not include jobs.", logging.WARNING)
            found = []
        what = "Whether the database responds."
        yield GaugeMetricFamily("autotune_database_up", what, 1 if found else 0)
        yield from found


def _job_metrics(jobs: Jobs) -> Iterator[Metric]:
    states, unserved, seconds, oldest = jobs.activity()
    by_state = GaugeMetricFamily("autotune_jobs", "Jobs by state.", labels=["state"])
    for state in State:
        by_state.add_metric([state], states[state])
    yield by_state
    yield CounterMetricFamily("autotune_device_seconds", "Time spent on searches.", seconds)
    found = jobs.workers(None)
    for name, text, value in (
        ("jobs_unserved", "Jobs that wait for a worker that is not there.", unserved),
        ("queue_age_seconds", "Age of the oldest job that waits.", oldest),
        ("workers", "Workers there.", len(found)),
        ("workers_busy", "Workers that run a job.", sum(each.busy for each in found)),
        ("workers_draining", "Workers that take no further job.", sum(w.draining for w in found)),
    ):
        yield GaugeMetricFamily(f"autotune_{name}", text, value)


HEARTBEAT = format_sse_event(comment="still there")
Again = Callable[[], Awaitable[object]]


class Streams:
    def __init__(self, jobs: Jobs, web: Web, metrics: Metrics) -> None:
        self._jobs = jobs
        self._web = web
        self._open: Counter[str] = Counter()
        metrics.streams.set_function(self._open.total)
        self._closing = asyncio.Event()

    @contextmanager
    def follow(
        self, job_id: str, after: int, key_id: str, again: Again
    ) -> Iterator[AsyncGenerator[bytes]]:
        """Give the stream of a job's events; it counts as open until the block ends."""
        web = self._web
        for which, count, most, then in (
            ("service", self._open.total(), web.streams, "Try again later."),
            ("key", self._open[key_id], web.streams_per_key, "Close one and try again."),
        ):
            if count >= most:
                said = f"This {which} has {plural(count, 'event stream')} open, the maximum."
                raise TooManyStreams(said, then)
        self._open[key_id] += 1
        try:
            yield self._stream(job_id, after, again)
        finally:
            self._open -= Counter([key_id])

    def close(self) -> None:
        """End all streams, and let none begin."""
        self._closing.set()

    async def _stream(self, job_id: str, after: int, again: Again) -> AsyncGenerator[bytes]:
        # Half a heartbeat, so that every silence that is as long is one in which it is asked.
        patience = self._web.heartbeat / 2
        due = silent = time.monotonic()
        while not self._closing.is_set():
            try:
                found = await run_in_threadpool(self._jobs.events, job_id, None, after=after)
            except DatabaseUnavailable:
                # Followers stay: a new connection would find the database gone as well.
                log("Events cannot be read.", logging.WARNING, job=job_id)
                found = ()
            for event in found:
                after, text = event.number, event.model_dump_json()
                yield format_sse_event(event=event.body.kind, id=str(after), data_str=text)
            if found and isinstance(found[-1].body, Ended):
                return
            now = time.monotonic()
            if now >= due:
                due = now + patience
                try:
                    await again()
                except (KeyRefused, NotFound, ScopeMissing):
                    return
                except ServiceError:
                    log("The API key of an event stream cannot be checked.", logging.WARNING)
            if found:
                silent = now
                continue
            if now - silent >= self._web.heartbeat:
                silent = now
                yield HEARTBEAT
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), self._web.poll)
