"""Requests that are traced."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from autotune.api.callers import Scope
from autotune.api.http.app import create_app
from autotune.api.http.service import open_service
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.tables import jobs
from autotune.api.telemetry import Traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
ASKED = {"workload": "digits", "space": "quick"}


@pytest.fixture
def spans() -> Any:
    """What is told, of requests and whatever else."""
    memory: Any = pytest.importorskip(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter", reason="the extra `telemetry`"
    )
    return memory.InMemorySpanExporter()


@pytest.fixture
def traced(settings: Settings, database: Database, spans: Any) -> Iterator[TestClient]:
    """A client of an application that is traced."""
    sdk: Any = pytest.importorskip("opentelemetry.sdk.trace")
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(spans))
    service = replace(open_service(settings, keys=True), telemetry=Traces(provider))
    key = Keyring(database).hand_out("me", [Scope.READ, Scope.WRITE], "me").secret
    headers = {"Authorization": f"Bearer {key}"}
    app = create_app(settings, opened=service)
    with TestClient(app, base_url="http://localhost", headers=headers) as client:
        yield client


def test_a_request_keeps_the_trace_that_it_comes_with(
    traced: TestClient, spans: Any, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Its job and the log name it; the span is named by the route."""
    caplog.set_level(logging.INFO)
    parent = f"00-{TRACE}-b7ad6b7169203331-01"
    answer = traced.post("/v1/tunings", json=ASKED, headers={"traceparent": parent})
    assert answer.status_code == 202
    (span,) = spans.get_finished_spans()
    assert (span.name, f"{span.context.trace_id:032x}") == ("POST /v1/tunings", TRACE)
    with database.reading() as connection:
        kept = connection.execute(select(jobs.c.trace)).scalar_one()
    assert kept == f"00-{TRACE}-{span.context.span_id:016x}-01"
    (told,) = [each.fields for each in caplog.records if "answered" in each.getMessage()]
    assert told["trace_id"] == TRACE


def test_a_key_is_in_no_span(traced: TestClient, spans: Any) -> None:
    """Nor is the address of what is no call of the API, which may hold a secret."""
    secret = traced.headers["authorization"].split()[1]
    traced.get("/v1/tunings")
    for path in ("/sign-in?code=word", "/healthz", "/metrics"):
        traced.get(path)
    (span,) = spans.get_finished_spans()
    assert span.name == "GET /v1/tunings"
    assert secret not in span.to_json()


def test_a_service_without_traces_keeps_none(client: TestClient, database: Database) -> None:
    """Whatever a request says."""
    parent = f"00-{TRACE}-b7ad6b7169203331-01"
    assert client.post("/v1/tunings", json=ASKED, headers={"traceparent": parent}).is_success
    with database.reading() as connection:
        assert connection.execute(select(jobs.c.trace)).scalar_one() is None
