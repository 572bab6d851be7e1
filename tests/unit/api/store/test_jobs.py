"""The job service."""

import pytest
from sqlalchemy import update

from autotune.api.settings import Quotas
from autotune.api.store import tables, workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import WorkerInfo
from autotune.api.workloads import Registry
from autotune.wire.errors import QuotaExceeded, SpaceNotRunnable
from autotune.wire.jobs import JobRequest, Needs, State
from tests.engines.fake import FAKE_MACHINE


def test_an_idempotency_key_is_forgotten_some_day(
    jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    first = jobs.submit(asked, "me", "k")
    for days, same in ((6, True), (2, False)):
        with database.writing() as connection:
            earlier = tables.jobs.c.created_at - days * 86_400
            connection.execute(update(tables.jobs).values(created_at=earlier))
        assert (jobs.submit(asked, "me", "k").id == first.id) is same


def test_what_waits_is_limited_for_each_project(jobs: Jobs, asked: JobRequest) -> None:
    """A refused request leaves its idempotency key free."""
    filling = [jobs.submit(asked, "me") for _ in range(2)]
    with pytest.raises(QuotaExceeded, match="queued"):
        jobs.submit(asked, "me", "k")
    assert jobs.submit(asked, "you").project == "you"
    jobs.cancel(filling[0].id, "me")
    assert jobs.submit(asked, "me", "k").state is State.QUEUED


def test_device_seconds_are_limited(
    database: Database, registry: Registry, asked: JobRequest
) -> None:
    jobs = Jobs(database, registry, Quotas(device_seconds=200))
    jobs.submit(asked, "me")
    with pytest.raises(QuotaExceeded, match="200 s"):
        jobs.submit(asked, "me")


def test_a_space_is_checked_where_machines_are_known_that_may_run_it(
    database: Database, registry: Registry, quotas: Quotas
) -> None:
    jobs, tpus = Jobs(database, registry, quotas), JobRequest(workload="digits", space="tpu")
    assert jobs.submit(tpus, "me").project == "me"
    post = WorkerInfo(worker="w", devices="d", host="h", machine=FAKE_MACHINE)
    workers.seen(database, post)
    elsewhere = tpus.model_copy(update={"needs": Needs(kind="tpu")})
    assert jobs.submit(elsewhere, "me").project == "me"
    declared = Jobs(database, registry, quotas, FAKE_MACHINE)
    for service, asked in ((jobs, tpus), (declared, elsewhere)):
        with pytest.raises(SpaceNotRunnable):
            service.submit(asked, "you")
