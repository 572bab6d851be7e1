"""The page of the workers."""

from __future__ import annotations

from starlette.testclient import TestClient

from autotune.api.store import workers
from autotune.api.store.database import Database
from autotune.api.values import Job, WorkerInfo
from autotune.testing import fake_machine

POST = WorkerInfo(
    worker="bench-1-1-a",
    devices="bench",
    host="here",
    workloads={"digits": "c0de"},
    machine=fake_machine(gpus=("<b>H100</b>",)),
    labels=("fast",),
)


def test_workers_are_shown(client: TestClient, database: Database, text: object) -> None:
    workers.seen(database, POST)
    page = client.get("/workers").text
    shown = text(page)  # type: ignore[operator]
    for each in ("bench-1-1-a waits 2 CPU cores, ", "fast", "digits c0de"):
        assert each in shown
    assert "<b>H100" not in page
    assert "data-poll" in page
    assert 'href="/workers"' in client.get("/").text


def test_a_job_that_waits_shows_its_place(client: TestClient, database: Database, job: Job) -> None:
    """And is looked at again, as others go before it without an event of its own."""
    workers.seen(database, POST)
    page = client.get(f"/tunings/{job.id}").text
    assert "It is next." in page
    assert "data-poll" in page
