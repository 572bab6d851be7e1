"""What the store promises, the same on both databases."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import update

from autotune.api.settings import Quotas, Settings
from autotune.api.store import attempts, tables
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import ClaimedJob, LeaseToken, WorkerInfo
from autotune.config import Configuration
from autotune.trial import Trial
from autotune.wire.errors import QuotaExceeded
from autotune.wire.jobs import JobRequest, State
from tests.trials import ended_trial

LEASE = 30.0


def claim(database: Database, devices: str = "bench", worker: str = "w1") -> ClaimedJob | None:
    return attempts.claim(database, WorkerInfo(worker=worker, devices=devices, host="h"), LEASE)


def take(database: Database, devices: str = "bench", worker: str = "w1") -> ClaimedJob:
    claimed = claim(database, devices, worker)
    assert claimed is not None
    return claimed


def lapse(database: Database, seconds: float = -1000.0) -> None:
    with database.writing() as connection:
        later = tables.jobs.c.expires_at + seconds
        connection.execute(update(tables.jobs).values(expires_at=later))


@pytest.fixture
def token(database: Database, jobs: Jobs, asked: JobRequest) -> LeaseToken:
    """Of the attempt at the only job."""
    jobs.submit(asked, "me")
    return take(database).token


def test_many_workers_share_the_jobs(database: Database, jobs: Jobs, asked: JobRequest) -> None:
    ids = {jobs.submit(asked, "me").id for _ in range(4)}
    with ThreadPoolExecutor(8) as pool:
        # A loser may find the row locked and come back empty, as a worker would come again.
        for _ in range(4):
            list(pool.map(lambda i: claim(database, f"d{i}", f"w{i}"), range(8)))
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT id, state, attempt FROM jobs").all()
    assert {tuple(row) for row in rows} == {(each, "running", 1) for each in ids}


def test_one_request_makes_one_job_at_the_same_moment(
    database: Database, jobs: Jobs, asked: JobRequest
) -> None:
    del database
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: jobs.submit(asked, "me", "k").id, range(8)))
    assert len(set(found)) == 1
    assert len(jobs.page("me").tunings) == 1


def test_a_quota_holds_at_the_same_moment(
    database: Database, settings: Settings, asked: JobRequest
) -> None:
    jobs = Jobs(database, settings.registry(), Quotas(queued=3, device_seconds=1e9))

    def submit(_: int) -> bool:
        try:
            return bool(jobs.submit(asked, "me"))
        except QuotaExceeded:
            return False

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(submit, range(20))) == 3
    assert len(jobs.page("me").tunings) == 3


def test_a_lost_job_goes_to_the_next_worker(
    database: Database, jobs: Jobs, asked: JobRequest
) -> None:
    """After its lease a job is taken over with what was recorded, before younger ones."""
    job = jobs.submit(asked, "me")
    jobs.submit(asked, "me")
    token = take(database).token
    attempts.record(database, token, AttemptReport(number=1, trial=ended_trial(), study='{"a": 1}'))
    lapse(database)
    claimed = take(database, worker="w2")
    assert (claimed.job.id, claimed.token.attempt) == (job.id, 2)
    assert claimed.kept == (ended_trial(),)
    assert claimed.study == '{"a": 1}'


def test_a_clock_that_was_put_back_takes_nothing_from_who_lives(
    database: Database, token: LeaseToken
) -> None:
    lapse(database, +100_000)
    assert claim(database, worker="w2") is None
    assert attempts.renew(database, token, LEASE) is State.RUNNING
    assert claim(database, worker="w2") is None
    lapse(database, -LEASE)
    assert take(database, worker="w2").token.attempt == 2


def test_a_job_tells_how_it_stands(database: Database, jobs: Jobs, token: LeaseToken) -> None:
    """The best figure so far is kept for one device and for distributed configurations."""
    for number, reached in enumerate((100.0, 300.0, 200.0)):
        ended = ended_trial(number).model_copy(update={"examples_per_second": reached})
        attempts.record(database, token, AttemptReport(number=number + 1, trial=ended))
    found = jobs.get(token.job_id, "me")
    assert (found.one_device, found.distributed, found.trials) == (300.0, None, 3)


def test_what_killed_an_attempt_is_known(database: Database, token: LeaseToken) -> None:
    """The configuration that ran at a death counts, by death and by loss, not what ran before."""
    good, bad = Configuration(), Configuration(per_replica_batch=64)
    for number, report in enumerate((good, None, bad), 1):
        attempts.record(
            database, token, AttemptReport(number=number, running=report, idle=not report)
        )
    attempts.let_go(database, token, attempts.DIED, "It died.")
    token = take(database).token
    attempts.record(database, token, AttemptReport(number=1, running=bad))
    lapse(database)
    claimed = take(database)
    assert (claimed.deaths, claimed.killers) == (2, (bad, bad))


def test_the_time_of_earlier_attempts_is_known(database: Database, token: LeaseToken) -> None:
    attempts.record(database, token, AttemptReport(number=1, began=True))
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE attempts SET began_at = began_at - 40")
    lapse(database)
    assert take(database).used_seconds == pytest.approx(40, abs=1)


def test_what_may_be_left_of_attempts_is_known(
    database: Database, jobs: Jobs, asked: JobRequest
) -> None:
    """An attempt that is over counts on its own host until it was swept; one that runs does not."""
    jobs.submit(asked, "me")
    first = take(database)
    attempts.note_process(database, first.token, 7, 9)
    assert not attempts.orphans(database, "h")
    lapse(database)
    take(database)
    (left,) = attempts.orphans(database, "h")
    assert (left.marker, left.pid, left.pid_started) == (first.marker, 7, 9)
    assert not attempts.orphans(database, "another host")
    attempts.swept(database, left.job_id, left.number)
    assert not attempts.orphans(database, "h")


@pytest.mark.parametrize(("trial", "used"), [(None, 0), (ended_trial(), 100)])
def test_the_time_of_an_attempt_that_was_stuck_counts_if_something_was_measured(
    database: Database, token: LeaseToken, trial: Trial | None, used: float
) -> None:
    said = AttemptReport(number=1, began=True, running=Configuration(), trial=trial)
    attempts.record(database, token, said)
    with database.writing() as connection:
        earlier = tables.attempts.c.began_at - 100
        connection.execute(update(tables.attempts).values(began_at=earlier))
    attempts.let_go(database, token, attempts.STUCK, "The disk was full.")
    found = take(database)
    assert (found.deaths, found.killers) == (0, ())
    assert found.used_seconds == pytest.approx(used, abs=5)


CLOSE_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test%'"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_connection_that_was_closed_while_idle_is_replaced(
    jobs: Jobs, asked: JobRequest, postgresql: Any
) -> None:
    job = jobs.submit(asked, "me")
    postgresql.execute(CLOSE_ALL)
    assert jobs.get(job.id, "me").id == job.id
    postgresql.execute(CLOSE_ALL)
    assert jobs.submit(asked, "me").id != job.id
