"""Old jobs are removed with all that is of them, and nothing else is."""

import os
import time

import pytest
from sqlalchemy import func, select, update

from autotune.api.settings import Settings
from autotune.api.store import attempts, tables
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs, remove_ended
from autotune.api.values import JobOutcome, WorkerInfo
from autotune.api.work.worker import DAY_SECONDS, Worker
from autotune.wire.errors import NotFound
from autotune.wire.jobs import Job, JobRequest, State

OF_A_JOB = (tables.events, tables.trials, tables.attempts)


def ended(jobs: Jobs, database: Database, days: float) -> Job:
    job = jobs.submit(JobRequest(workload="digits"), "me", f"key {days}")
    jobs.cancel(job.id, "me")
    age(database, job, days)
    return job


def age(database: Database, job: Job, days: float) -> None:
    mine = tables.jobs.c.id == job.id
    old = tables.jobs.c.ended_at - days * DAY_SECONDS
    with database.writing() as connection:
        connection.execute(update(tables.jobs).where(mine).values(ended_at=old))


def rows(database: Database, job: Job) -> list[int]:
    with database.reading() as connection:
        return [
            connection.execute(select(func.count()).where(each.c.job_id == job.id)).scalar_one()
            for each in OF_A_JOB
        ]


def tidy(database: Database, settings: Settings, days: int | None) -> None:
    Worker(database, settings.model_copy(update={"retention_days": days})).tidy()


def test_an_old_job_goes_with_all_its_rows_and_files(
    jobs: Jobs, asked: JobRequest, database: Database, settings: Settings
) -> None:
    job = jobs.submit(asked, "me", "key")
    assert Worker(database, settings).run_one()
    assert all(rows(database, job))
    age(database, job, 8)
    place = settings.jobs / job.id
    os.utime(place, (time.time() - 8 * DAY_SECONDS,) * 2)
    tidy(database, settings, 7)
    assert not any(rows(database, job))
    assert not place.exists()
    with pytest.raises(NotFound):
        jobs.get(job.id, None)


def test_what_is_younger_or_runs_stays(jobs: Jobs, database: Database, settings: Settings) -> None:
    """A crash between rows and files, or another host's worker, leaves files of no job: they go."""
    old, young = ended(jobs, database, 8), ended(jobs, database, 6)
    waiting = jobs.submit(JobRequest(workload="digits"), "me")
    for name, days in ((young.id, 8), ("lost", 8), ("new", 1)):
        place = settings.jobs / name
        place.mkdir(parents=True)
        os.utime(place, (time.time() - days * DAY_SECONDS,) * 2)
    tidy(database, settings, 7)
    assert {each.id for each in jobs.page(None).tunings} == {young.id, waiting.id}
    assert not any(rows(database, old))
    assert rows(database, young)[0] == 3
    assert {each.name for each in settings.jobs.iterdir()} == {young.id, "new"}


def test_what_removed_jobs_have_spent_still_counts(jobs: Jobs, database: Database) -> None:
    job = jobs.submit(JobRequest(workload="digits"), "me")
    claimed = attempts.claim(database, WorkerInfo(worker="w", devices="d", host="h"), 30.0)
    attempts.record(database, claimed.token, AttemptReport(number=1, began=True))
    with database.writing() as connection:
        earlier = tables.attempts.c.began_at - 100
        connection.execute(update(tables.attempts).values(began_at=earlier))
    attempts.finish(database, claimed.token, JobOutcome(state=State.FAILED))
    _, _, spent, _ = jobs.activity()
    age(database, job, 10)
    assert remove_ended(database, DAY_SECONDS) == 1
    assert jobs.activity()[2] == pytest.approx(spent) == pytest.approx(100, abs=5)
