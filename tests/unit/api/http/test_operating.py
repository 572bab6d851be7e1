"""What operators look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.errors import DatabaseUnavailable
from autotune.api.identity import Scope
from autotune.api.settings import Settings
from autotune.api.store import attempts, workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job, WorkerInfo
from autotune.testing import FAKE_MACHINE, fake_machine


def test_the_metrics_tell_of_calls_and_jobs(client_with: Any, job: Job) -> None:
    """Addresses are counted by route, so that their number is bounded."""
    admin = client_with(*Scope, project=job.project)
    admin.get(f"/v1/tunings/{job.id}")
    admin.get("/v1/nothing")
    text = admin.get("/metrics").text
    route = 'method="GET",route="/v1/tunings/{job_id}",status="200"'
    assert f"autotune_http_requests_total{{{route}}} 1.0" in text
    assert 'route="none",status="404"' in text
    assert "autotune_database_up 1.0" in text
    assert 'autotune_jobs{state="queued"} 1.0' in text
    assert "autotune_device_seconds_total 0.0" in text
    assert job.id not in text


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
    serve: Callable[..., FastAPI], settings: Settings, database: Database
) -> None:
    """Status 503 says when to come again; the one of these devices counts, and before it any."""
    app = serve(settings.model_copy(update={"machine": None}), keys=False)
    client = TestClient(app, base_url="http://localhost")
    for path in ("/v1/machine", "/v1/spaces"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "machine-unknown")
        assert int(answer.headers["retry-after"]) <= 10
    assert client.post("/v1/tunings", json={"workload": "digits"}).status_code == 202
    large = fake_machine(cpus=64)
    workers.seen(database, WorkerInfo(worker="w", devices="other", host="h", machine=large))
    assert client.get("/v1/machine").json()["machine"]["hosts"][0]["cpus"] == 64
    workers.remember_machine(database, "bench", FAKE_MACHINE)
    assert client.get("/v1/machine").json()["machine"] == FAKE_MACHINE.model_dump(mode="json")
    assert client.get("/v1/spaces").json()["auto"] == "cpu"


def test_the_metrics_tell_what_happens(
    client_with: Any, database: Database, done: Job, client: TestClient
) -> None:
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


POST = WorkerInfo(
    worker="bench-1-1-a",
    devices="bench",
    host="here",
    workloads={"digits": "c0de"},
    machine=FAKE_MACHINE,
    labels=("fast",),
)
DRAIN = f"/v1/workers/{POST.worker}/drain"


@pytest.fixture
def worker(database: Database) -> WorkerInfo:
    workers.seen(database, POST)
    return POST


def test_workers_are_listed(client: TestClient, worker: WorkerInfo) -> None:
    (found,) = client.get("/v1/workers").json()["workers"]
    assert found["name"] == worker.worker
    assert found["machine"]["hosts"][0]["cpus"] == 2
    assert (found["labels"], found["workloads"]) == (["fast"], {"digits": "c0de"})
    assert (found["busy"], found["draining"], found["job"]) == (False, False, None)


def test_the_job_of_a_worker_is_told_to_its_project_alone(
    client: TestClient, client_with: Any, database: Database, job: Job, worker: WorkerInfo
) -> None:
    assert attempts.claim(database, worker, 60.0) is not None
    found = [
        each.get("/v1/workers").json()["workers"][0] for each in (client, client_with(Scope.READ))
    ]
    assert [(each["busy"], each["job"]) for each in found] == [(True, job.id), (True, None)]


def test_an_administrator_drains_a_worker_and_has_it_go_on(
    client_with: Any, worker: WorkerInfo
) -> None:
    admin = client_with(Scope.READ, Scope.ADMIN)
    assert admin.post(DRAIN).json()["draining"] is True
    assert admin.get("/v1/workers").json()["workers"][0]["draining"] is True
    assert admin.post(DRAIN.replace("drain", "resume")).json()["draining"] is False
    del worker


@pytest.mark.parametrize("name", ["nobody", "x" * 300, "%00"])
def test_a_worker_that_is_not_there_is_not_drained(client_with: Any, name: str) -> None:
    answer = client_with(Scope.ADMIN).post(f"/v1/workers/{name}/drain")
    assert answer.status_code in (404, 422), answer.text


def test_a_job_that_waits_says_for_what(client: TestClient, job: Job, worker: WorkerInfo) -> None:
    waits = client.get(f"/v1/tunings/{job.id}").json()["waiting"]
    assert (waits["kind"], waits["before"], waits["sentence"]) == ("turn", 0, "It is next.")
    assert client.get("/v1/tunings").json()["tunings"][0]["waiting"] is None
    del worker


def test_a_high_priority_needs_an_administrator(client: TestClient, client_with: Any) -> None:
    asked = {"workload": "digits", "priority": 1}
    answer = client.post("/v1/tunings", json=asked)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing")
    assert client.post("/v1/tunings", json={**asked, "priority": -10}).status_code == 202
    admin = client_with(Scope.ADMIN, Scope.WRITE)
    assert admin.post("/v1/tunings", json=asked).json()["priority"] == 1
    assert admin.post("/v1/tunings", json={**asked, "priority": 11}).status_code == 422


def test_needs_are_checked(client: TestClient, worker: WorkerInfo) -> None:
    """What they say is kept with the job; what is odd in them is named."""
    del worker
    asked = {"workload": "digits", "needs": {"devices": 1, "labels": ["b", "a"]}}
    made = client.post("/v1/tunings", json=asked).json()
    assert made["needs"] == {"devices": 1, "kind": None, "labels": ["a", "b"]}
    answer = client.post("/v1/tunings", json={**asked, "needs": {"devices": 0}})
    assert answer.json()["errors"][0]["location"] == "body.needs.devices"
