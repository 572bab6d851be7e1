"""What operators look at."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.errors import DatabaseUnavailable
from autotune.api.store import workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job, WorkerInfo


def test_the_metrics_tell_of_the_jobs(client_with: Any) -> None:
    """Their states, and that the database answers."""
    text = client_with(Scope.READ).get("/metrics").text
    assert "autotune_database_up 1.0" in text
    assert 'autotune_jobs{state="queued"} 0.0' in text


def test_metrics_without_the_database(client_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process tells its own figures, and that the database does not answer."""

    def gone(_: Jobs) -> None:
        raise DatabaseUnavailable("gone")

    monkeypatch.setattr(Jobs, "activity", gone)
    answer = client_with(Scope.READ).get("/metrics")
    assert answer.status_code == 200
    assert "autotune_database_up 0.0" in answer.text
    assert "autotune_http_event_streams 0.0" in answer.text
    assert "autotune_jobs" not in answer.text


def test_a_machine_that_is_not_known_yet_keeps_nobody_waiting(
    app: FastAPI, client: TestClient
) -> None:
    """Status 503 says when to come again, and jobs are taken in as they come."""
    app.state.service.catalog._declared = None
    for path in ("/v1/machine", "/v1/spaces"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "machine-unknown")
        assert int(answer.headers["retry-after"]) <= 10
    assert client.post("/v1/tunings", json={"workload": "digits"}).status_code == 202


def test_the_metrics_tell_what_happens(
    client_with: Any, database: Database, done: Job, client: TestClient
) -> None:
    """Who works, how long jobs wait and run, and how trials end."""
    workers.seen(database, WorkerInfo(worker="w", devices="bench", host="h"))
    workers.drain(database, "w")
    client.post("/v1/tunings", json={"workload": "digits"})
    text = client_with(Scope.READ).get("/metrics").text
    assert "autotune_workers 1.0" in text
    assert "autotune_workers_draining 1.0" in text
    assert "autotune_workers_busy 0.0" in text
    assert 'autotune_trials_total{outcome="measured"} 1.0' in text
    assert 'autotune_trials_total{outcome="crashed"} 0.0' in text
    figures = {
        name: float(value)
        for name, value in re.findall("^(autotune_[a-z_]+) (.*)$", text, re.MULTILINE)
    }
    assert 0 <= figures["autotune_queue_age_seconds"] < 600
    assert figures["autotune_run_seconds_median"] == pytest.approx(
        (done.ended_at or 0) - (done.started_at or 0)
    )
    assert figures["autotune_wait_seconds_median"] >= 0
