"""A worker with the real engine: TensorFlow's processes end with whatever ends it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest
from sqlalchemy import select

from autotune.api.requests import JobRequest
from autotune.api.states import FINAL, State
from autotune.api.store import tables
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work import processes
from autotune.engine.resolve import LOCAL

pytestmark = [pytest.mark.chaos, pytest.mark.long, pytest.mark.real]


def until(true: Callable[[], bool], seconds: float = 300) -> float:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, "it took too long"
        time.sleep(0.05)
    return time.monotonic() - began


def alive(database: Database) -> int:
    with database.reading() as connection:
        found = connection.execute(select(tables.attempts.c.marker)).scalars().all()
    return sum(len(processes.marked(each)) for each in found)


@pytest.mark.real
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_real_job_survives_its_worker_and_ends_with_its_cancellation(
    jobs: Jobs, database: Database, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """The second worker goes on from the trials of the first, and nothing of either is left."""
    job = jobs.submit(JobRequest(workload="tiny_dense", space="quick", budget=120.0), "me")
    first = start_worker(AUTOTUNE_SERVICE_ENGINE=LOCAL)
    until(lambda: jobs.get(job.id, None).trials >= 1)
    first.kill()
    assert until(lambda: alive(database) == 0) < 10
    kept = jobs.get(job.id, None).trials
    start_worker(AUTOTUNE_SERVICE_ENGINE=LOCAL)
    until(lambda: jobs.get(job.id, None).trials > kept)
    assert jobs.get(job.id, None).attempt == 2
    mine = select(tables.trials.c.attempt).where(tables.trials.c.number < kept)
    with database.reading() as connection:
        assert [*connection.execute(mine).scalars()] == [1] * kept
    jobs.cancel(job.id, None)
    assert until(lambda: alive(database) == 0) < 10
    until(lambda: jobs.get(job.id, None).state in FINAL)
    assert jobs.get(job.id, None).state is State.CANCELLED
