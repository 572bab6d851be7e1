"""The job service."""

from __future__ import annotations

import pytest

from autotune.api.errors import (
    IdempotencyMismatch,
    IllegalTransition,
    InvalidTuning,
    NoRecommendation,
    NotFound,
    QuotaExceeded,
    SpaceNotRunnable,
)
from autotune.api.events import Cancelling, Ended, Queued
from autotune.api.requests import JobRequest
from autotune.api.settings import Quotas
from autotune.api.states import State
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.removal import forget_keys
from autotune.api.workloads import Registry
from autotune.testing import FAKE_MACHINE


def test_a_job_waits_after_it_was_submitted(jobs: Jobs, asked: JobRequest) -> None:
    """A new job is queued, has an event, and keeps its request."""
    job = jobs.submit(asked, "me")
    assert (job.state, job.attempt, job.events) == (State.QUEUED, 0, 1)
    assert job.budget == 180
    assert [each.body for each in jobs.events(job.id, "me")] == [Queued()]


def test_a_wrong_request_leaves_no_job(jobs: Jobs) -> None:
    """What is refused is not kept."""
    with pytest.raises(InvalidTuning):
        jobs.submit(JobRequest(workload="other"), "me")
    assert jobs.page(None).tunings == ()


def test_an_idempotency_key_makes_one_job(jobs: Jobs, asked: JobRequest) -> None:
    """The same request with the same key is answered with the same job."""
    first = jobs.submit(asked, "me", "k")
    assert jobs.submit(asked, "me", "k").id == first.id
    assert jobs.submit(asked, "you", "k").id != first.id


def test_an_idempotency_key_belongs_to_one_request(jobs: Jobs, asked: JobRequest) -> None:
    """Another request with the same key is refused."""
    jobs.submit(asked, "me", "k")
    with pytest.raises(IdempotencyMismatch):
        jobs.submit(JobRequest(workload="digits", seed=5), "me", "k")


def test_an_idempotency_key_is_forgotten_some_day(
    jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    """An old key makes a new job."""
    first = jobs.submit(asked, "me", "k")
    forget_keys(database, 60)
    assert jobs.submit(asked, "me", "k").id == first.id
    forget_keys(database, -60)
    assert jobs.submit(asked, "me", "k").id != first.id


def test_a_refused_request_leaves_its_idempotency_key_free(jobs: Jobs, asked: JobRequest) -> None:
    """A request that came while the quota was full may come again."""
    filling = [jobs.submit(asked, "me") for _ in range(2)]
    with pytest.raises(QuotaExceeded):
        jobs.submit(asked, "me", "k")
    jobs.cancel(filling[0].id, "me")
    assert jobs.submit(asked, "me", "k").state is State.QUEUED


def test_what_waits_is_limited_for_each_key(jobs: Jobs, asked: JobRequest) -> None:
    """The quota of one key is no other's."""
    for _ in range(2):
        jobs.submit(asked, "me")
    with pytest.raises(QuotaExceeded, match="queued"):
        jobs.submit(asked, "me")
    assert jobs.submit(asked, "you").project == "you"


def test_device_seconds_are_limited(
    database: Database, registry: Registry, asked: JobRequest
) -> None:
    """What jobs may use counts before they use it."""
    jobs = Jobs(database, registry, Quotas(device_seconds=200))
    jobs.submit(asked, "me")
    with pytest.raises(QuotaExceeded, match="200 s"):
        jobs.submit(asked, "me")


def test_jobs_of_others_are_not_found(jobs: Jobs, asked: JobRequest) -> None:
    """Everything about somebody else's job looks as if there were none."""
    job = jobs.submit(asked, "me")
    for call in (jobs.get, jobs.detail, jobs.events, jobs.cancel, jobs.recommendation):
        with pytest.raises(NotFound):
            call(job.id, "you")
    assert jobs.page("you").tunings == ()
    assert jobs.placed(job.id, None) == job


def test_pages_hold_every_job_once(
    database: Database, registry: Registry, asked: JobRequest
) -> None:
    """The newest come first, and each page says where the next one begins."""
    jobs = Jobs(database, registry, Quotas(queued=10, device_seconds=1e9))
    ids = [jobs.submit(asked, "me").id for _ in range(5)]
    first = jobs.page("me", limit=3)
    second = jobs.page("me", limit=3, before=first.next)
    assert [each.id for each in (*first.tunings, *second.tunings)] == ids[::-1]
    assert second.next is None


def test_a_job_that_waits_is_cancelled_at_once(jobs: Jobs, asked: JobRequest) -> None:
    """Cancelling twice is no error, and the end is told once."""
    job = jobs.submit(asked, "me")
    assert jobs.cancel(job.id, "me").state is State.CANCELLED
    assert jobs.cancel(job.id, "me").state is State.CANCELLED
    shown = [each.body for each in jobs.events(job.id, "me", after=1)]
    reason = jobs.get(job.id, "me").reason
    assert reason
    assert "cancelled. Ask for it again" in reason
    assert shown == [Cancelling(), Ended(state=State.CANCELLED, reason=reason)]


def test_a_job_without_a_recommendation_says_so(jobs: Jobs, asked: JobRequest) -> None:
    """Both before and after the end the text says what is the matter."""
    job = jobs.submit(asked, "me")
    with pytest.raises(NoRecommendation, match="queued"):
        jobs.recommendation(job.id, "me")
    jobs.cancel(job.id, "me")
    with pytest.raises(NoRecommendation, match="cancelled"):
        jobs.recommendation(job.id, "me")


def test_a_failed_job_cannot_be_cancelled(
    jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    """What has ended otherwise stays as it is."""
    job = jobs.submit(asked, "me")
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE jobs SET state = 'failed'")
    with pytest.raises(IllegalTransition):
        jobs.cancel(job.id, "me")


def test_a_page_begins_after_a_job_of_ones_own(jobs: Jobs, asked: JobRequest) -> None:
    """A job of somebody else's looks like none, even though its place is known."""
    theirs = jobs.submit(asked, "you").id
    jobs.submit(asked, "me")
    for unknown in (theirs, "0" * 24):
        with pytest.raises(NotFound):
            jobs.page("me", before=unknown)
    assert jobs.page(None, before=theirs).tunings == ()


def test_a_space_is_checked_where_the_machine_is_known(
    database: Database, registry: Registry, quotas: Quotas
) -> None:
    """Nobody waits for it: while it is not known, the job's worker finds out."""
    tpus = JobRequest(workload="digits", space="tpu")
    with pytest.raises(SpaceNotRunnable):
        Jobs(database, registry, quotas, lambda _: (FAKE_MACHINE,)).submit(tpus, "me")
    assert Jobs(database, registry, quotas, lambda _: ()).submit(tpus, "me").project == "me"
