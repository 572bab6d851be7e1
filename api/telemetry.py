"""Traces from a request to the trials that it led to, told to OpenTelemetry; off unless asked for.

The usual variables of the environment say where to (`OTEL_EXPORTER_OTLP_ENDPOINT`). Without them
nothing of OpenTelemetry is imported, and it need not be installed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from autotune.api.log import about, known, say
from autotune.api.states import State
from autotune.api.values import Claim
from autotune.config import Configuration
from autotune.events import TrialEnded, TrialStarted
from autotune.trial import Trial
from autotune.version import VERSION

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
TRACED = "/v1/"
"""Begins the paths that are traced. Addresses of pages may hold secrets, and what else there is
is asked for every few seconds."""
PARENT = "traceparent"
LEAVE_SECONDS = 3.0
"""How long an end of the process may wait for a collector."""


_KINDS = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
_NOTHING = dict.fromkeys(_KINDS, False)
"""By itself FastAPI tells whatever provider is there, also the texts of exceptions."""


class Attempt:
    """Follows an attempt at a job, and tells nobody."""

    def hear(self, event: object) -> None:
        """Take in what the search says."""

    def ended(self, state: State) -> None:
        """Take in what the job has become."""


class Telemetry:
    """Tells nobody."""

    @property
    def of_requests(self) -> Any:
        """What FastAPI is to tell of requests, as its option `telemetry` has it."""
        return _NOTHING

    def here(self) -> Mapping[str, str]:
        """Return the fields of all that is said of the request at hand."""
        return {}

    @contextmanager
    def attempt(self, claimed: Claim) -> Iterator[Attempt]:
        """Trace an attempt at a job, as a part of the request that asked for it."""
        del claimed
        yield Attempt()

    def close(self) -> None:
        """Tell what is not told yet, if somebody listens."""


def parent() -> str | None:
    """Return where the request at hand is in its trace, as the header `traceparent` has it."""
    return known().get(PARENT)


def telemetry_of(part: str, variables: Mapping[str, str] = os.environ) -> Telemetry:
    """Return what the environment asks for.

    Args:
        part: The name of this part of the service.
        variables: The environment.
    """
    disabled = variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if disabled or not any(variables.get(each) for each in ENDPOINTS):
        return Telemetry()
    try:
        return Traces(_exporting(part, variables))
    except ImportError as exc:
        what = "There are no traces; run `pip install '.[telemetry]'` in autotune's checkout."
        say(what, logging.WARNING, missing=exc.name)
        return Telemetry()


def _exporting(part: str, variables: Mapping[str, str]) -> Any:
    """Return a provider whose spans go to the collector, in batches and beside everything else."""
    sdk = import_module("opentelemetry.sdk.trace")
    batches = import_module("opentelemetry.sdk.trace.export").BatchSpanProcessor
    otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    resources = import_module("opentelemetry.sdk.resources")
    told = {"service.version": VERSION}
    named = "service.name=" in variables.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not named and "OTEL_SERVICE_NAME" not in variables:
        told["service.name"] = f"autotune-{part}"
    resource = resources.Resource.create(told)
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(batches(otlp.OTLPSpanExporter()))
    return provider


class Traces(Telemetry):
    """Tells a provider of OpenTelemetry.

    Args:
        provider: Makes the spans.
    """

    def __init__(self, provider: Any) -> None:
        self._api = import_module("opentelemetry.trace")
        self._names = import_module("opentelemetry.trace.propagation.tracecontext")
        self._provider = provider
        self._tracer = provider.get_tracer("autotune", VERSION)

    @property
    def of_requests(self) -> Any:
        """What FastAPI is to tell of requests, as its option `telemetry` has it."""
        return {
            **_NOTHING,
            "tracing": True,
            "tracer_provider": self._provider,
            "exclude": _untraced,
        }

    def here(self) -> Mapping[str, str]:
        """Return the fields of all that is said of the request at hand."""
        return self._fields(self._api.get_current_span())

    @contextmanager
    def attempt(self, claimed: Claim) -> Iterator[Attempt]:
        """Trace an attempt at a job, as a part of the request that asked for it."""
        context = self._names.TraceContextTextMapPropagator().extract({})
        now, job = time.time_ns(), claimed.job
        told = {"autotune.job": job.id, "autotune.workload": job.workload}
        if claimed.grip.attempt == 1:
            began = min(int(job.created_at * 1e9), now)
            self._tracer.start_span("wait", context, attributes=told, start_time=began).end(now)
        told["autotune.worker"] = claimed.grip.worker
        numbered = {**told, "autotune.attempt": claimed.grip.attempt}
        span = self._tracer.start_span("search", context, attributes=numbered, start_time=now)
        traced = _TracedAttempt(self._api, self._tracer, span)
        try:
            with about(**self._fields(span)):
                yield traced
        finally:
            traced.close()

    def close(self) -> None:
        """Tell what is not told yet, if somebody listens."""
        leaving = threading.Thread(target=self._provider.shutdown, daemon=True)
        leaving.start()
        leaving.join(LEAVE_SECONDS)

    def _fields(self, span: Any) -> Mapping[str, str]:
        if not span.get_span_context().is_valid:
            return {}
        carrier: dict[str, str] = {}
        within = self._api.set_span_in_context(span)
        self._names.TraceContextTextMapPropagator().inject(carrier, within)
        return {"trace_id": carrier[PARENT].split("-")[1], PARENT: carrier[PARENT]}


def _untraced(scope: Mapping[str, Any]) -> bool:
    return not scope["path"].startswith(TRACED)


class _TracedAttempt(Attempt):
    """A span, and one within it for each trial.

    Args:
        api: OpenTelemetry's.
        tracer: Makes the spans.
        span: That of the attempt.
    """

    def __init__(self, api: Any, tracer: Any, span: Any) -> None:
        self._api = api
        self._tracer = tracer
        self._span = span
        self._trials: dict[int, Any] = {}

    def hear(self, event: object) -> None:
        """Take in what the search says."""
        match event:
            case TrialStarted(number=number):
                within = self._api.set_span_in_context(self._span)
                self._trials[number] = self._tracer.start_span("trial", within)
                self._trials[number].set_attributes(_told_before(event))
            case TrialEnded(trial=trial) if trial.number in self._trials:
                span = self._trials.pop(trial.number)
                span.set_attributes(_told_after(trial))
                if not trial.measured:
                    span.set_status(self._api.StatusCode.ERROR, str(trial.outcome))
                span.end()

    def ended(self, state: State) -> None:
        """Take in what the job has become."""
        self._span.set_attribute("autotune.state", str(state))

    def close(self) -> None:
        """End what is still open: the attempt was cut short."""
        for each in self._trials.values():
            each.set_status(self._api.StatusCode.ERROR, "interrupted")
            each.end()
        self._span.end()


def _told_before(started: TrialStarted) -> dict[str, str | float]:
    return {
        "autotune.trial.number": started.number,
        "autotune.trial.stage": str(started.stage),
        **_told_of(started.configuration),
    }


def _told_of(configuration: Configuration) -> dict[str, str | float]:
    """Return a configuration without texts of the user's own, which may hold anything."""
    own = {name: value for name, value in configuration.arguments if not isinstance(value, str)}
    told = {**configuration.model_dump(mode="json", exclude={"arguments"}), **own}
    return {f"autotune.{name}": value for name, value in told.items() if value is not None}


def _told_after(trial: Trial) -> dict[str, str | float]:
    told: dict[str, str | float] = {"autotune.trial.outcome": str(trial.outcome)}
    if trial.examples_per_second is not None:
        told["autotune.trial.examples_per_second"] = trial.examples_per_second
    return told
