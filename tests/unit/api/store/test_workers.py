"""Which workers are there, and what waits for one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from autotune.api.events import Released
from autotune.api.requests import JobRequest
from autotune.api.settings import Settings, load_settings
from autotune.api.states import State
from autotune.api.store import attempts, queue, tables, workers
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import ClaimedJob, Job, JobOutcome, Waiting, WaitsFor, WorkerInfo
from autotune.events import Notice
from tests.trials import ended_trial

HAS = {"digits": "c0de"}
OLD = WorkerInfo(worker="w1", devices="pod-1", host="h", workloads=HAS)
RENAMED = WorkerInfo(worker="w2", devices="pod-2", host="h", workloads=HAS)
BARE = WorkerInfo(worker="w3", devices="pod-3", host="h", workloads={})


@pytest.fixture
def job(jobs: Jobs, asked: JobRequest) -> Job:
    return jobs.submit(asked, "me")


@pytest.fixture
def measured(database: Database, job: Job) -> ClaimedJob:
    del job
    workers.seen(database, OLD)
    claimed = attempts.claim(database, OLD, 30.0)
    assert claimed is not None
    attempts.record(database, claimed.token, AttemptReport(number=1, trial=ended_trial()))
    return claimed


def pass_by(database: Database, seconds: float) -> None:
    with database.writing() as connection:
        for table, column in ((tables.workers, "seen_at"), (tables.jobs, "expires_at")):
            earlier = {column: table.c[column] - seconds}
            connection.execute(update(table).values(earlier))


def test_a_job_that_no_worker_can_go_on_with_says_so(
    database: Database, jobs: Jobs, job: Job, measured: ClaimedJob
) -> None:
    """After the host's name has changed it neither waits in silence nor seems to run."""
    attempts.let_go(database, measured.token, attempts.RELEASED, "The worker was shut down.")
    workers.leave(database, OLD)
    workers.seen(database, RENAMED)
    assert attempts.claim(database, RENAMED, 30.0) is None
    for _ in range(2):
        queue.mark_unserved(database)
    found = jobs.get(job.id, "me")
    assert "on the devices 'pod-1'" in (found.reason or "")
    shown = [each.body for each in jobs.events(job.id, "me")]
    assert shown.count(Notice(text=found.reason or "")) == 1
    assert jobs.activity().unserved == {("digits", "pod-1", ""): 1}


def test_a_job_whose_worker_was_killed_does_not_seem_to_run_for_ever(
    database: Database, jobs: Jobs, job: Job, measured: ClaimedJob
) -> None:
    pass_by(database, 10_000)
    workers.seen(database, RENAMED)
    queue.mark_unserved(database)
    found = jobs.get(job.id, "me")
    assert found.state is State.QUEUED
    last = jobs.events(job.id, "me")[-1].body
    assert last == Released(attempt=measured.token.attempt, reason=found.reason or "")


def test_a_worker_that_runs_a_job_is_there(
    database: Database, jobs: Jobs, measured: ClaimedJob
) -> None:
    """It shows itself by renewing its lease, however long the job takes."""
    pass_by(database, 80)
    with database.writing() as connection:
        later = tables.jobs.c.expires_at + 1000
        connection.execute(update(tables.jobs).values(expires_at=later))
    attempts.renew(database, measured.token, 30.0)
    pass_by(database, 80)
    assert [each.busy for each in jobs.workers(None)] == [True]
    pass_by(database, 80)
    assert jobs.workers(None) == ()


def test_a_worker_without_the_workload_leaves_the_job(
    database: Database, jobs: Jobs, job: Job
) -> None:
    workers.seen(database, BARE)
    assert attempts.claim(database, BARE, 30.0) is None
    queue.mark_unserved(database)
    assert "the workload 'digits'" in (jobs.get(job.id, "me").reason or "")
    assert attempts.claim(database, OLD, 30.0) is not None


def test_a_worker_without_the_workload_ends_what_was_cancelled(
    database: Database, jobs: Jobs, job: Job, measured: ClaimedJob
) -> None:
    del measured
    jobs.cancel(job.id, "me")
    pass_by(database, 10_000)
    assert attempts.claim(database, BARE, 30.0) is not None


def test_a_worker_that_is_drained_ends_its_job_and_takes_no_other(
    database: Database, jobs: Jobs, asked: JobRequest, measured: ClaimedJob
) -> None:
    waits = jobs.submit(asked, "me")
    assert workers.drain(database, OLD.worker).draining
    workers.leave(database, OLD)
    assert workers.seen(database, OLD, draining=True)  # The database has forgotten it.
    assert workers.seen(database, OLD)
    attempts.renew(database, measured.token, 30.0)
    attempts.finish(database, measured.token, JobOutcome(state=State.DONE))
    assert attempts.claim(database, OLD, 30.0) is None
    assert jobs.placed(waits.id, "me").waiting == Waiting(kind=WaitsFor.WORKER)
    assert not workers.drain(database, OLD.worker, draining=False).draining
    assert attempts.claim(database, OLD, 30.0) is not None


def settings(folder: Path) -> Settings:
    return load_settings(data=folder, root=folder)


def test_the_name_of_the_devices_outlives_that_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has another host's name at each start, and the same data folder."""
    monkeypatch.setattr("platform.node", lambda: "pod-1")
    first = settings(tmp_path).named_devices()
    monkeypatch.setattr("platform.node", lambda: "pod-2")
    assert settings(tmp_path).named_devices() == first
    assert first.startswith("pod-1-")
    assert [each.name for each in tmp_path.iterdir()] == ["devices"]
