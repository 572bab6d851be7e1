"""Trouble of the host: no job fails by it, and whoever asked learns no paths."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import select

from autotune.api.events import Released
from autotune.api.requests import JobRequest
from autotune.api.settings import Settings
from autotune.api.states import State
from autotune.api.store import attempts, tables
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job
from autotune.api.work.messages import NO_ENGINE, UNUSABLE
from autotune.api.work.worker import Worker
from autotune.result import Result

pytestmark = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@pytest.fixture
def job(jobs: Jobs, asked: JobRequest) -> Job:
    return jobs.submit(asked, "me")


class Pauses(Event):
    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return self.is_set()


def run(
    database: Database, settings: Settings, engine: str, **changes: object
) -> list[float | None]:
    """Have a worker run one job; return for how long it has paused, which takes no time here."""
    changed = settings.model_copy(update={"engine": f"service_engines:{engine}", **changes})
    worker = Worker(database, changed)
    worker._stop = pauses = Pauses()
    assert worker.run_one()
    return pauses.seconds


def endings(database: Database) -> list[str | None]:
    with database.reading() as connection:
        return [*connection.execute(select(tables.attempts.c.ending)).scalars()]


def reasons(jobs: Jobs, job: Job) -> list[str]:
    shown = [each.body for each in jobs.events(job.id, None)]
    return [each.reason for each in shown if isinstance(each, Released)]


def check_done(jobs: Jobs, job: Job, attempt: int) -> Result:
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.attempt) == (State.DONE, attempt), ended.reason
    found = jobs.recommendation(job.id, None)
    assert found.trials == jobs.detail(job.id, None).trials
    return found


@pytest.mark.parametrize("engine", ["full", "filling"])
def test_a_full_disk_fails_no_job(
    jobs: Jobs, job: Job, database: Database, settings: Settings, engine: str
) -> None:
    """The job waits, the worker pauses, and later it goes on as if nothing had died."""
    assert run(database, settings, engine) == [settings.patience.lease]
    assert jobs.get(job.id, None).state is State.QUEUED
    assert reasons(jobs, job) == [UNUSABLE]
    kept = jobs.get(job.id, None).trials
    assert kept == (2 if engine == "filling" else 0)
    assert run(database, settings, "quick", deaths=1) == []
    assert endings(database) == [attempts.STUCK, attempts.FINISHED]
    assert len(check_done(jobs, job, attempt=2).trials) >= kept


def test_a_folder_that_cannot_be_made_fails_no_job(
    jobs: Jobs, job: Job, database: Database, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    paused = run(database, settings, "quick", data=tmp_path / "file")
    assert paused == [settings.patience.lease]
    assert jobs.get(job.id, None).state is State.QUEUED
    assert reasons(jobs, job) == [UNUSABLE]
    assert run(database, settings, "quick", deaths=1) == []
    check_done(jobs, job, attempt=2)


def test_a_worker_that_pauses_can_be_stopped(
    jobs: Jobs, job: Job, database: Database, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    patience = settings.patience.model_copy(update={"lease": 600.0})
    changes = {"patience": patience, "data": tmp_path / "file"}
    pausing = Worker(database, settings.model_copy(update=changes))
    thread = Thread(target=pausing.run)
    thread.start()
    while not reasons(jobs, job):
        time.sleep(0.02)
    pausing.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert jobs.get(job.id, None).attempt == 1


def test_a_result_that_cannot_be_saved_is_not_lost(
    jobs: Jobs, job: Job, database: Database, settings: Settings
) -> None:
    """The database has it; the files beside it are for the operator."""
    run(database, settings, "unsaved")
    check_done(jobs, job, attempt=1)
    place = settings.data / "jobs" / job.id / "1"
    assert (place / "train.py").is_dir()
    assert "cannot be written" in (place / "search.log").read_text()


def test_a_broken_engine_is_told_to_the_operator(
    jobs: Jobs,
    job: Job,
    database: Database,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run(database, settings, "broken")
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.reason) == (State.FAILED, NO_ENGINE)
    assert "python cannot be started" in caplog.text


def test_what_is_wrong_with_a_workload_is_told_without_the_root(
    jobs: Jobs, job: Job, database: Database, settings: Settings
) -> None:
    """Whoever asked learns the reason, with the file as the operator registered it."""
    run(database, settings, "complaining")
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.reason) == (
        State.FAILED,
        "examples/digits.py raised: no digits.",
    )


def test_a_workload_may_say_what_is_no_text(
    jobs: Jobs, job: Job, database: Database, settings: Settings
) -> None:
    """Its job fails at once and tells why, instead of dying again and again."""
    run(database, settings, "unprintable")
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.attempt) == (State.FAILED, 1)
    assert (ended.reason or "").startswith("The file caf?? is missing. xxx")
