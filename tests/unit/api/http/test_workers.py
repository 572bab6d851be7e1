"""The workers over HTTP: who sees them, who drains them, and jobs that ask for some of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.store import attempts, workers
from autotune.api.store.database import Database
from autotune.api.values import Job, WorkerInfo
from autotune.testing import FAKE_MACHINE

POST = WorkerInfo(
    worker="bench-1-1-a",
    devices="bench",
    host="here",
    workloads={"digits": "c0de"},
    machine=FAKE_MACHINE,
    labels=("fast",),
)
DRAIN = f"/v1/workers/{POST.worker}/drain"
Client = Callable[..., TestClient]


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
    client: TestClient, client_with: Client, database: Database, job: Job, worker: WorkerInfo
) -> None:
    assert attempts.claim(database, worker, 60.0) is not None
    found = [each.get("/v1/workers").json()["workers"][0] for each in (client, other(client_with))]
    assert [(each["busy"], each["job"]) for each in found] == [(True, job.id), (True, None)]


def other(client_with: Client) -> TestClient:
    return client_with(Scope.READ)


def test_an_administrator_drains_a_worker_and_has_it_go_on(
    client_with: Client, worker: WorkerInfo
) -> None:
    admin = client_with(Scope.READ, Scope.ADMIN)
    assert admin.post(DRAIN).json()["draining"] is True
    assert admin.get("/v1/workers").json()["workers"][0]["draining"] is True
    assert admin.post(DRAIN.replace("drain", "resume")).json()["draining"] is False
    del worker


@pytest.mark.parametrize("name", ["nobody", "x" * 300, "%00"])
def test_a_worker_that_is_not_there_is_not_drained(client_with: Client, name: str) -> None:
    answer = client_with(Scope.ADMIN).post(f"/v1/workers/{name}/drain")
    assert answer.status_code in (404, 422), answer.text


def test_a_job_that_waits_says_for_what(client: TestClient, job: Job, worker: WorkerInfo) -> None:
    waits = client.get(f"/v1/tunings/{job.id}").json()["waiting"]
    assert (waits["kind"], waits["before"], waits["sentence"]) == ("turn", 0, "It is next.")
    assert client.get("/v1/tunings").json()["tunings"][0]["waiting"] is None
    del worker


def test_a_high_priority_needs_an_administrator(client: TestClient, client_with: Client) -> None:
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
