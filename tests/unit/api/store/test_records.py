"""Records that are damaged: one spoils nothing but its own job."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import func, update

from autotune.api.settings import Settings, load_settings
from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import events, jobs as rows, trials
from autotune.api.values import UNREADABLE, ClaimedJob, WorkerInfo
from autotune.api.work.worker import Worker
from autotune.events import Notice, TrialEnded
from autotune.wire.errors import UnreadableRecord
from autotune.wire.jobs import Job, JobRequest, State
from tests.trials import ended_trial

ROOT = Path(__file__).parents[4]
POST = WorkerInfo(worker="w", devices="bench", host="h")
GONE = ('"allow_asynchronous":false', '"allow_asynchronous":"perhaps"')
Change = Callable[..., None]


@pytest.fixture
def change(database: Database) -> Change:
    def change(column: object, replaced: tuple[str, str]) -> None:
        shown = func.replace(column, *replaced)
        with database.writing() as connection:
            connection.execute(update(column.table).values({column.name: shown}))

    return change


@pytest.fixture
def settings(database: Database, tmp_path: Path) -> Settings:
    del database
    return load_settings(data=tmp_path, root=ROOT, devices="bench", engine="os:abort")


@pytest.fixture
def measured(database: Database, job: Job) -> ClaimedJob:
    del job
    claimed = attempts.claim(database, POST, 30.0)
    shown = [Notice(text="hello"), TrialEnded(trial=ended_trial(), elapsed=3.0)]
    report = AttemptReport(number=1, trial=ended_trial(), events=shown)
    attempts.record(database, claimed.token, report)
    return claimed


def test_an_unreadable_job_is_listed_with_the_others(
    jobs: Jobs, asked: JobRequest, job: Job, change: Change
) -> None:
    change(rows.c.request, GONE)
    other = jobs.submit(asked, "me")
    found = {each.id: each for each in jobs.page("me").tunings}
    assert found[job.id].reason == UNREADABLE
    assert found[job.id].workload == "digits"
    assert found[other.id].reason is None
    shown = jobs.detail(job.id, "me").job
    assert shown.model_copy(update={"waiting": None}) == found[job.id]
    assert jobs.cancel(job.id, "me").state is State.CANCELLED


@pytest.mark.parametrize("column", [rows.c.request, trials.c.record])
def test_an_unreadable_job_is_one_failed_job(  # noqa: PLR0917 - fixtures
    jobs: Jobs,
    asked: JobRequest,
    measured: ClaimedJob,
    database: Database,
    settings: Settings,
    change: Change,
    column: object,
) -> None:
    attempts.let_go(database, measured.token, attempts.RELEASED, "stopped")
    change(column, ('"', "'"))
    behind = jobs.submit(asked, "me")
    assert Worker(database, settings).run_one()
    ended = jobs.get(measured.job.id, "me")
    assert (ended.state, ended.attempt) == (State.FAILED, 2)
    assert UNREADABLE in (ended.reason or "")
    following = attempts.claim(database, POST, 30.0)
    assert following.job.id == behind.id


def test_an_unreadable_event_is_told_as_one(
    jobs: Jobs, measured: ClaimedJob, change: Change
) -> None:
    change(events.c.body, ('"kind":"notice"', '"kind":"hint"'))
    shown = jobs.events(measured.job.id, "me")
    assert [each.number for each in shown] == [1, 2, 3, 4]
    assert shown[2].body == Notice(text=UNREADABLE)
    assert shown[3].body == TrialEnded(trial=ended_trial(), elapsed=3.0)


def test_reading_something_unreadable_leaves_no_reader_behind(
    jobs: Jobs, asked: JobRequest, measured: ClaimedJob, change: Change
) -> None:
    """A connection that still reads would refuse the next writer, for somebody else's request."""
    change(trials.c.record, ('"number":', '"index":'))
    for _ in range(4):
        with pytest.raises(UnreadableRecord):
            jobs.detail(measured.job.id, "me")
        jobs.submit(asked, f"owner {_}")


def test_a_worker_survives_whatever_a_claim_raises(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "claim", Mock(side_effect=ZeroDivisionError))
    assert not Worker(database, settings)._run_one_if_it_can()
