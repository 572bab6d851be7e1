"""Whose turn it is, and what a job that waits is told."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from autotune.api.requests import JobRequest
from autotune.api.settings import Quotas
from autotune.api.states import State
from autotune.api.store import attempts, queue, tables, workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import ClaimedJob, Job, JobOutcome, Waiting, WaitsFor, WorkerInfo
from autotune.api.workloads import Registry
from autotune.events import Notice
from autotune.testing import FAKE_MACHINE, fake_machine

HAS = {"digits": "c0de"}
PLAIN = WorkerInfo(worker="p", devices="plain", host="h", workloads=HAS, machine=FAKE_MACHINE)
PAIR = WorkerInfo(
    worker="g",
    devices="pair",
    host="h",
    workloads=HAS,
    machine=fake_machine(gpus=("H100", "H100")),
    labels=("fast",),
)
DONE = JobOutcome(state=State.DONE)


@pytest.fixture
def jobs(database: Database, registry: Registry) -> Jobs:
    return Jobs(database, registry, Quotas(queued=100, device_seconds=1e9))


def submit(jobs: Jobs, project: str = "me", **more: object) -> Job:
    return jobs.submit(
        JobRequest.model_validate({"workload": "digits", "budget": 60, **more}), project
    )


def run(database: Database, post: WorkerInfo) -> ClaimedJob:
    claimed = attempts.claim(database, post, 30.0)
    assert claimed is not None
    attempts.finish(database, claimed.token, DONE)
    return claimed


def test_a_job_that_no_worker_can_run_says_what_it_needs(database: Database, jobs: Jobs) -> None:
    job = submit(jobs, needs={"kind": "H100"})
    workers.seen(database, PLAIN)
    for _ in range(2):
        queue.mark_unserved(database)
    found = jobs.placed(job.id, "me")
    assert found.reason == (
        "Waits for a worker with the workload 'digits', at least 1 H100 device; none is there."
    )
    assert found.waiting == Waiting(kind=WaitsFor.WORKER)
    assert found.waiting.sentence == "No worker that is there can run it."
    shown = [each.body for each in jobs.events(job.id, "me")]
    assert shown.count(Notice(text=found.reason)) == 1
    assert [*jobs.activity().unserved] == [("digits", "", "at least 1 H100 device")]
    workers.seen(database, PAIR)
    queue.mark_unserved(database)
    assert jobs.placed(job.id, "me").reason is None
    assert jobs.activity().unserved == {}


def test_a_job_that_waits_knows_its_place(database: Database, jobs: Jobs) -> None:
    workers.seen(database, PLAIN)
    first = [submit(jobs, "me").id for _ in range(3)]
    claimed = attempts.claim(database, PLAIN, 30.0)
    assert claimed is not None
    yours = submit(jobs, "you")
    places = [jobs.placed(each, None).waiting for each in (yours.id, *first[1:])]
    assert [each and each.before for each in places] == [0, 1, 2]
    assert places[0] is not None
    assert places[0].sentence == "It is next."
    assert jobs.placed(first[0], None).waiting == Waiting(kind=WaitsFor.MACHINE)
    attempts.record(database, claimed.token, attempts.AttemptReport(number=1, began=True))
    assert jobs.placed(first[0], None).waiting is None


@pytest.mark.parametrize("begins", [True, False])
def test_waiting_for_the_machine_is_none_of_a_search(
    database: Database, jobs: Jobs, *, begins: bool
) -> None:
    """What it took counts from when it began, also in a second attempt."""
    job = submit(jobs)
    claimed = attempts.claim(database, PLAIN, 30.0)
    assert claimed is not None
    with database.writing() as connection:
        connection.execute(update(tables.jobs).values(started_at=1.0))
    if begins:
        attempts.record(database, claimed.token, attempts.AttemptReport(number=1, began=True))
        started = jobs.get(job.id, "me").started_at
        assert started
        assert started > 1.0
        attempts.let_go(database, claimed.token, attempts.RELEASED, "It was stopped.")
        again = attempts.claim(database, PLAIN, 30.0)
        assert again is not None
        attempts.record(database, again.token, attempts.AttemptReport(number=1, began=True))
        assert jobs.get(job.id, "me").started_at == started
    else:
        jobs.cancel(job.id, "me")
        attempts.finish(database, claimed.token, JobOutcome(state=State.CANCELLED))
        assert jobs.get(job.id, "me").started_at is None


def test_only_rivals_for_the_same_workers_count(database: Database, jobs: Jobs) -> None:
    for each in (PLAIN, PAIR):
        workers.seen(database, each)
    submit(jobs, "you", needs={"labels": ["fast"]})
    submit(jobs, "you", needs={"labels": ["nowhere"]})
    cpu = submit(jobs, "me", needs={"kind": "cpu"})
    free = submit(jobs, "me")
    waits = jobs.placed(cpu.id, "me").waiting
    assert waits is not None
    assert waits.before == 0
    behind = jobs.placed(free.id, "me").waiting
    assert behind is not None
    assert behind.before == 2
