"""What operators look at."""

import re
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.store import attempts, workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import WorkerInfo
from autotune.wire.errors import DatabaseUnavailable
from autotune.wire.jobs import Job


def test_the_metrics_tell_what_happens(client: TestClient, database: Database, done: Job) -> None:
    workers.seen(database, WorkerInfo(worker="w", devices="bench", host="h"))
    workers.drain(database, "w")
    client.post("/v1/tunings", json={"workload": "digits"})
    client.get(f"/v1/tunings/{done.id}")
    client.get("/v1/nothing")
    text = client.get("/metrics").text
    for shown in (
        'http_requests_total{method="GET",route="/v1/tunings/{job_id}",status="200"} 1.0',
        'http_requests_total{method="GET",route="none",status="404"} 1.0',
        "database_up 1.0",
        'jobs{state="queued"} 1.0',
        'jobs{state="done"} 1.0',
        "workers 1.0",
        "workers_draining 1.0",
        "workers_busy 0.0",
    ):
        assert f"autotune_{shown}\n" in text
    assert done.id not in text
    figures = {
        name: float(value)
        for name, value in re.findall("^autotune_([a-z_]+) (.*)$", text, re.MULTILINE)
    }
    took = (done.ended_at or 0) - (done.started_at or 0)
    assert figures["device_seconds_total"] == pytest.approx(took, abs=1)
    assert 0 <= figures["queue_age_seconds"] < 600


def test_metrics_without_the_database(client_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jobs, "activity", Mock(side_effect=DatabaseUnavailable("gone")))
    answer = client_with(Scope.READ).get("/metrics")
    assert answer.status_code == 200
    assert "autotune_database_up 0.0" in answer.text
    assert "autotune_http_event_streams 0.0" in answer.text
    assert "autotune_jobs" not in answer.text


def test_workers_are_listed_and_their_jobs_told_to_the_project_alone(
    client: TestClient, client_with: Any, database: Database, job: Job, worker: WorkerInfo
) -> None:
    (found,) = client.get("/v1/workers").json()["workers"]
    assert found["name"] == worker.worker
    assert found["machine"]["hosts"][0]["cpus"] == 2
    assert (found["labels"], found["workloads"]) == (["fast"], {"digits": "c0de"})
    assert (found["busy"], found["draining"], found["job"]) == (False, False, None)
    assert attempts.claim(database, worker, 60.0) is not None
    for each, told in ((client, job.id), (client_with(Scope.READ), None)):
        (found,) = each.get("/v1/workers").json()["workers"]
        assert (found["busy"], found["job"]) == (True, told)
    workers.drain(database, worker.worker)
    assert client.get("/v1/workers").json()["workers"][0]["draining"] is True


def test_a_high_priority_needs_an_administrator(client: TestClient, client_with: Any) -> None:
    asked = {"workload": "digits", "priority": 1}
    answer = client.post("/v1/tunings", json=asked)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing")
    assert client.post("/v1/tunings", json={**asked, "priority": -10}).status_code == 202
    admin = client_with(Scope.ADMIN, Scope.WRITE)
    assert admin.post("/v1/tunings", json=asked).json()["priority"] == 1
    assert admin.post("/v1/tunings", json={**asked, "priority": 11}).status_code == 422
