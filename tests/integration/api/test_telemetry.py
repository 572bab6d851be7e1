"""A collector gets one trace from a request to the trials of its job."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from benchmarks.service.site import Site, address_of, running, until

PATIENCE = '{"lease": 5.0, "renewal": 0.3, "look": 0.1, "idle": 0.1}'
ASKED = {"workload": "digits", "space": "quick", "budget": 180, "max_trials": 3}
IMPORTS = "autotune, autotune.api.http.server, autotune.api.work.worker"


class Collector:
    """An OTLP receiver that keeps the spans that it gets."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/traces"
                collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self) -> dict[str, list[Any]]:
        """Return the spans by name."""
        proto: Any = pytest.importorskip(
            "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
            reason="the extra `telemetry`",
        )
        found: dict[str, list[Any]] = {}
        for body in self.bodies:
            for resource in proto.ExportTraceServiceRequest.FromString(body).resource_spans:
                for span in (each for scope in resource.scope_spans for each in scope.spans):
                    found.setdefault(span.name, []).append(span)
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    """One that listens."""
    pytest.importorskip("opentelemetry.exporter.otlp", reason="the extra `telemetry`")
    found = Collector()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A service whose engine takes no time."""
    return Site(
        folder=tmp_path,
        database=f"sqlite:///{tmp_path / 'service.db'}",
        engine="service_engines:quick",
        changes={"PATIENCE": PATIENCE},
    )


@pytest.fixture
def database(site: Site) -> Iterator[Database]:
    """Its database."""
    found = open_database(site.settings)
    yield found
    found.close()


def test_one_trace_leads_from_a_request_to_the_trials_of_its_job(
    collector: Collector, site: Site, database: Database
) -> None:
    """Through API, database and worker, which are ended in the usual way at last."""
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
    key = site.new_key(database, "me")
    api = site.start("serve", "api", "--port", "0", **variables)
    worker = site.start("serve", "worker", **variables)
    headers = {"Authorization": f"Bearer {key}"}
    with running(api, worker):
        with httpx.Client(base_url=address_of(api), headers=headers, timeout=30) as client:
            job = client.post("/v1/tunings", json=ASKED).json()["url"]
            until(lambda: client.get(job).json()["state"] == "done", 360)
            trials = client.get(f"{job}/trials").json()["trials"]
        for each in (api, worker):
            each.terminate()
            each.wait(120)
    spans = collector.spans()
    (request,), (wait,), (search,) = (spans[n] for n in ("POST /v1/tunings", "wait", "search"))
    assert {wait.parent_span_id, search.parent_span_id} == {request.span_id}
    assert {each.parent_span_id for each in spans["trial"]} == {search.span_id}
    together = [request, wait, search, *spans["trial"]]
    assert {each.trace_id for each in together} == {request.trace_id}
    assert attributes(search)["autotune.state"] == "done"
    outcomes = {number(each): attributes(each)["autotune.trial.outcome"] for each in spans["trial"]}
    assert outcomes == {each["number"]: each["outcome"] for each in trials}
    assert not any(key.encode() in each for each in collector.bodies)


def attributes(span: Any) -> dict[str, Any]:
    """Return the attributes of a span."""
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def number(span: Any) -> int:
    """Return the number of the trial that a span is of."""
    return int(attributes(span)["autotune.trial.number"])


def test_nothing_of_the_extra_is_imported_unless_asked_for() -> None:
    """So that importing takes no longer, and needs no more; FastAPI needs the interface."""
    found = (
        "[n for n in sys.modules if n.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))]"
    )
    program = f"import sys, {IMPORTS}; print({found})"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert made.stdout == b"[]\n", made.stdout
