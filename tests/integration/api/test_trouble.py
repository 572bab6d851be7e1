"""Trouble of the host: no job fails by it, and whoever asked learns no paths."""

import re
import time
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import select

from autotune.api.settings import Settings
from autotune.api.store import attempts, tables
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work.child import NO_ENGINE, UNUSABLE
from autotune.api.work.worker import Worker
from autotune.result import Result
from autotune.wire.events import Released
from autotune.wire.jobs import Job, JobRequest, State

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


@pytest.mark.parametrize(("engine", "data", "kept"), [("filling", "data", 2), ("quick", "file", 0)])
def test_a_disk_that_cannot_be_written_fails_no_job(  # noqa: PLR0917 - fixtures
    jobs: Jobs,
    job: Job,
    database: Database,
    settings: Settings,
    tmp_path: Path,
    engine: str,
    data: str,
    kept: int,
) -> None:
    """It is full, or has no folder: the job waits, and goes on as if nothing had died."""
    (tmp_path / "file").touch()
    paused = run(database, settings, engine, data=tmp_path / data)
    assert paused == [settings.patience.lease]
    assert jobs.get(job.id, None).state is State.QUEUED
    assert reasons(jobs, job) == [UNUSABLE]
    assert jobs.get(job.id, None).trials == kept
    assert run(database, settings, "quick", deaths=1) == []
    assert endings(database) == [attempts.STUCK, attempts.FINISHED]
    assert len(check_done(jobs, job, attempt=2).trials) >= kept


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


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("broken", re.escape(NO_ENGINE)),
        ("complaining", r".*examples/digits\.py raised: no digits\."),
    ],
)
def test_what_is_wrong_is_told_to_whom_it_concerns(  # noqa: PLR0917 - fixtures
    jobs: Jobs,
    job: Job,
    database: Database,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    engine: str,
    reason: str,
) -> None:
    """Whoever asked learns what is wrong with a workload, the operator what with the engine."""
    run(database, settings, engine)
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.attempt) == (State.FAILED, 1)
    assert re.fullmatch(reason, ended.reason or "")
    assert ("python cannot be started" in caplog.text) == (engine == "broken")
