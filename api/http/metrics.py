"""What Prometheus is told."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from statistics import median

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from autotune.api.errors import DatabaseUnavailable
from autotune.api.log import say
from autotune.api.store.activity import LATEST
from autotune.api.store.jobs import Jobs

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts requests and event streams of this process."""

    def __init__(self) -> None:
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

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; a method that is none of HTTP's must not make a series of its own."""
        known = method if method in METHODS else "other"
        self._requests.labels(known, route, status).inc()
        self._latency.labels(known, route).observe(seconds)

    def text(self, jobs: Jobs) -> bytes:
        """Return everything in Prometheus' text format; of the jobs, if the database answers."""
        own = CollectorRegistry()
        own.register(_OfJobs(jobs))
        return generate_latest(self._registry) + generate_latest(own)


class _OfJobs(Collector):
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering does not ask the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield what the database tells, and whether it does."""
        try:
            found = [self._states(), self._spent(), *self._workers(), self._unserved()]
            found += self._activity()
        except DatabaseUnavailable:
            say("The metrics do not include jobs.", logging.WARNING)
            found = []
        what = "Whether the database responds."
        yield GaugeMetricFamily("autotune_database_up", what, 1 if found else 0)
        yield from found

    def _states(self) -> Metric:
        states = GaugeMetricFamily("autotune_jobs", "Jobs by state.", labels=["state"])
        for state, count in self._jobs.counts().items():
            states.add_metric([state], count)
        return states

    def _workers(self) -> Iterator[Metric]:
        found = self._jobs.workers(None)
        yield GaugeMetricFamily("autotune_workers", "Workers there.", len(found))
        busy = sum(each.busy for each in found)
        yield GaugeMetricFamily("autotune_workers_busy", "Workers that run a job.", busy)
        drained = sum(each.draining for each in found)
        what = "Workers that take no further job."
        yield GaugeMetricFamily("autotune_workers_draining", what, drained)

    def _activity(self) -> Iterator[Metric]:
        found = self._jobs.activity()
        what = "Age of the oldest job that waits."
        yield GaugeMetricFamily("autotune_queue_age_seconds", what, found.oldest)
        spans = {"wait": found.waits, "run": found.runs}
        for name, seconds in spans.items():
            what = f"Median {name} of the latest {LATEST} jobs that ended."
            yield GaugeMetricFamily(f"autotune_{name}_seconds_median", what, _median(seconds))
        trials = CounterMetricFamily("autotune_trials", "Trials by outcome.", labels=["outcome"])
        for outcome, number in found.trials.items():
            trials.add_metric([outcome], number)
        yield trials

    def _unserved(self) -> Metric:
        what = "Jobs that wait for a worker that is not there."
        labels = ["workload", "devices", "needs"]
        waiting = GaugeMetricFamily("autotune_jobs_unserved", what, labels=labels)
        for each in self._jobs.unserved():
            waiting.add_metric([each.workload, each.devices or "", each.needed], each.jobs)
        return waiting

    def _spent(self) -> Metric:
        spent = self._jobs.device_seconds()
        return CounterMetricFamily("autotune_device_seconds", "Time spent on searches.", spent)


def _median(seconds: Sequence[float]) -> float:
    return median(seconds) if seconds else 0.0
