"""Metrics for Prometheus."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from autotune.api.log import log
from autotune.api.store.jobs import Jobs
from autotune.wire.errors import DatabaseUnavailable

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts what is answered, and asks the store for the rest whenever it is read."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._registry = CollectorRegistry()
        self._requests = Counter(
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
    activity = jobs.activity()
    states = GaugeMetricFamily("autotune_jobs", "Jobs by state.", labels=["state"])
    for state, count in activity.states.items():
        states.add_metric([state], count)
    yield states
    what = "Jobs that wait for a worker that is not there."
    yield GaugeMetricFamily("autotune_jobs_unserved", what, activity.unserved)
    spent = activity.device_seconds
    yield CounterMetricFamily("autotune_device_seconds", "Time spent on searches.", spent)
    found = jobs.workers(None)
    for name, text, value in (
        ("queue_age_seconds", "Age of the oldest job that waits.", activity.oldest),
        ("workers", "Workers there.", len(found)),
        ("workers_busy", "Workers that run a job.", sum(each.busy for each in found)),
        ("workers_draining", "Workers that take no further job.", sum(w.draining for w in found)),
    ):
        yield GaugeMetricFamily(f"autotune_{name}", text, value)
