"""What another version has written: read as far as it can be, and nobody stops because of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, update

from autotune.api.errors import OtherSchema, UnreadableRecord
from autotune.api.records import OTHER_VERSION, read, written
from autotune.api.requests import JobRequest
from autotune.api.settings import Settings, load_settings
from autotune.api.states import State
from autotune.api.store import attempts
from autotune.api.store.attempts import Report
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.migrations import check_schema, migrate
from autotune.api.store.tables import events, jobs as rows, trials
from autotune.api.values import Claim, Job, Outcome, Post, Tuning
from autotune.api.work.worker import Worker
from autotune.config import Configuration
from autotune.events import Notice, TrialEnded
from autotune.reason import Message, Outcome as TrialOutcome
from autotune.trial import Stage, Trial

ROOT = Path(__file__).parents[4]
POST = Post(worker="w", devices="bench", host="h")
NEW = ('"allow_asynchronous":false', '"allow_asynchronous":false,"max_memory":null')
GONE = ('"allow_asynchronous":false', '"allow_asynchronous":"perhaps"')
Change = Callable[..., None]


@pytest.fixture
def change(database: Database) -> Change:
    """Rewrites what is kept of all jobs, as another version would have written it."""

    def change(column: object, replaced: tuple[str, str]) -> None:
        told = func.replace(column, *replaced)
        with database.writing() as connection:
            connection.execute(update(column.table).values({column.name: told}))

    return change


@pytest.fixture
def settings(database: Database, tmp_path: Path) -> Settings:
    """Those of a worker on the same database, whose engine would fail."""
    del database
    return load_settings(data=tmp_path, root=ROOT, devices="bench", engine="os:abort")


@pytest.fixture
def job(jobs: Jobs, asked: JobRequest) -> Job:
    """A job that waits."""
    return jobs.submit(asked, "me")


def trial() -> Trial:
    return Trial(
        number=0,
        stage=Stage.BASELINE,
        configuration=Configuration(),
        outcome=TrialOutcome.MEASURED,
        reason=Message(text=""),
        examples_per_second=100.0,
    )


def measured(database: Database) -> Claim:
    """Return the claim of a job of which a trial is recorded."""
    claimed = attempts.claim(database, POST, 30.0)
    assert claimed is not None
    told = [Notice(text="hello"), TrialEnded(trial=trial(), elapsed=3.0)]
    attempts.record(database, claimed.grip, Report(number=1, trial=trial(), events=told))
    return claimed


def test_what_a_newer_version_has_added_is_left_out(
    jobs: Jobs, job: Job, database: Database, change: Change
) -> None:
    """A new field of a request, of a trial, of an event: the rest is as it was."""
    before = jobs.get(job.id, "me")
    measured(database)
    change(rows.c.request, NEW)
    change(trials.c.record, ('"windows":', '"heat":1,"windows":'))
    change(events.c.body, ('"kind":', '"tone":"low","kind":'))
    assert jobs.get(job.id, "me").options == before.options
    assert [each.trial for each in jobs.trials(job.id, "me")] == [trial()]
    assert jobs.events(job.id, "me")[-1].body == TrialEnded(trial=trial(), elapsed=3.0)


def test_a_record_of_a_newer_form_is_not_misunderstood() -> None:
    """It may look like one of ours and mean something else."""
    record = written(Configuration())
    assert read(Configuration, record) == Configuration()
    with pytest.raises(UnreadableRecord, match="another version"):
        read(Configuration, record.replace('"schema_version":1', '"schema_version":2'))


def test_a_record_of_before_there_were_forms_is_read() -> None:
    """The first databases have none."""
    assert read(Tuning, '{"workload":"digits"}').workload == "digits"


def test_an_unreadable_job_is_listed_with_the_others(
    jobs: Jobs, asked: JobRequest, job: Job, change: Change
) -> None:
    """It says why nothing more is told of it, and can be cancelled."""
    change(rows.c.request, GONE)
    other = jobs.submit(asked, "me")
    found = {each.id: each for each in jobs.page("me").tunings}
    assert found[job.id].reason == OTHER_VERSION
    assert found[job.id].workload == "digits"
    assert found[other.id].reason is None
    told = jobs.story(job.id, "me").job
    assert told.model_copy(update={"waiting": None}) == found[job.id]
    assert jobs.cancel(job.id, "me").state is State.CANCELLED


def test_a_state_that_only_another_version_knows_is_listed(
    jobs: Jobs, job: Job, change: Change
) -> None:
    """As failed, which is the nearest to what this version can do with it."""
    change(rows.c.state, ("queued", "paused"))
    assert [each.state for each in jobs.page("me").tunings] == [State.FAILED]
    assert jobs.get(job.id, "me").reason == OTHER_VERSION
    assert sum(jobs.counts().values()) == 0


@pytest.mark.parametrize("column", [rows.c.request, trials.c.record])
def test_an_unreadable_job_is_one_failed_job(  # noqa: PLR0917 - fixtures
    jobs: Jobs,
    asked: JobRequest,
    job: Job,
    database: Database,
    settings: Settings,
    change: Change,
    column: object,
) -> None:
    """The worker lives, and those behind it are claimed."""
    claimed = measured(database)
    attempts.let_go(database, claimed.grip, attempts.RELEASED, "stopped")
    change(column, ('"', "'"))
    behind = jobs.submit(asked, "me")
    assert Worker(database, settings).run_one()
    ended = jobs.get(job.id, "me")
    assert (ended.state, ended.attempt) == (State.FAILED, 2)
    assert OTHER_VERSION in (ended.reason or "")
    following = attempts.claim(database, POST, 30.0)
    assert following is not None
    assert following.job.id == behind.id


def test_an_unreadable_event_is_told_as_one(
    jobs: Jobs, job: Job, database: Database, change: Change
) -> None:
    """No number is missing, and a stream goes on behind it."""
    measured(database)
    change(events.c.body, ('"kind":"notice"', '"kind":"hint"'))
    told = jobs.events(job.id, "me")
    assert [each.number for each in told] == [1, 2, 3, 4]
    assert told[2].body == Notice(text=OTHER_VERSION)
    assert told[3].body == TrialEnded(trial=trial(), elapsed=3.0)


def test_the_rest_of_a_job_is_told_without_what_is_unreadable(
    jobs: Jobs, job: Job, database: Database, change: Change
) -> None:
    """The page shows it, and whoever asks for the trials themselves learns why there are none."""
    claimed = measured(database)
    attempts.finish(database, claimed.grip, Outcome(state=State.DONE, recommendation="{}"))
    change(trials.c.record, ('"number":', '"index":'))
    story = jobs.story(job.id, "me")
    assert (story.trials, story.recommendation) == ((), None)
    for ask in (jobs.trials, jobs.recommendation):
        with pytest.raises(UnreadableRecord):
            ask(job.id, "me")


def test_reading_something_unreadable_leaves_no_reader_behind(
    jobs: Jobs, asked: JobRequest, job: Job, database: Database, change: Change
) -> None:
    """A connection that still reads would refuse the next writer, for somebody else's request."""
    measured(database)
    change(trials.c.record, ('"number":', '"index":'))
    for _ in range(4):
        with pytest.raises(UnreadableRecord):
            jobs.trials(job.id, "me")
        jobs.submit(asked, f"owner {_}")


def test_a_trial_is_kept_once(jobs: Jobs, job: Job, database: Database) -> None:
    """Its event names it, and tells it all the same."""
    measured(database)
    with database.reading() as connection:
        body = connection.execute(events.select().where(events.c.number == 4)).one().body
    assert "one device" not in body
    assert jobs.events(job.id, "me")[-1].body == TrialEnded(trial=trial(), elapsed=3.0)


@pytest.fixture
def newer(database: Database) -> Database:
    """A database that a newer version has migrated."""
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE autotune_version SET version_num = '9999'")
    return database


@pytest.mark.parametrize("open_it", [migrate, check_schema])
def test_a_database_of_a_newer_version_is_named(newer: Database, open_it: Change) -> None:
    """A rollback is no bug, and the message says what to do."""
    with pytest.raises(OtherSchema, match=r"newer version of autotune\. Run that version"):
        open_it(newer)


@pytest.mark.usefixtures("job")
def test_a_worker_takes_nothing_from_a_newer_version(newer: Database, settings: Settings) -> None:
    """In an upgrade it waits to be replaced, and does not die."""
    assert not Worker(newer, settings)._run_one_if_it_can()
    with newer.reading() as connection:
        assert connection.execute(rows.select()).one().state == State.QUEUED


def test_a_worker_survives_whatever_a_claim_raises(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job must not end it."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(attempts, "claim", fail)
    assert not Worker(database, settings)._run_one_if_it_can()
