"""A database with some hundred jobs that are done: one is run, the others are copies of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, insert, select

from autotune.api.requests import JobRequest
from autotune.api.settings import Quotas, Settings
from autotune.api.states import State
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import attempts, events, jobs, trials
from autotune.api.work.worker import Worker

TRIALS = 40


def fill(database: Database, settings: Settings, count: int) -> Sequence[str]:
    """Return the ids of so many jobs that are done."""
    first = _run(database, settings)
    copies = [secrets.token_hex(12) for _ in range(count - 1)]
    with database.writing() as connection:
        for each in copies:
            _copy(connection, first, each)
    return [first, *copies]


def _run(database: Database, settings: Settings) -> str:
    service = Jobs(database, settings.registry(), Quotas())
    asked = JobRequest(workload="digits", space="cpu", budget="1h", max_trials=TRIALS)
    job = service.submit(asked, "nobody")
    Worker(database, settings).run_one()
    done = service.get(job.id, None)
    if done.state is not State.DONE:
        raise RuntimeError(f"the job that is to be copied is {done.state}: {done.reason}")
    return job.id


def _copy(connection: Connection, job_id: str, to: str) -> None:
    row = dict(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())
    del row["seq"], row["kind"]  # The database makes them.
    connection.execute(insert(jobs).values({**row, "id": to}))
    for table in (trials, events, attempts):
        rows = connection.execute(select(table).where(table.c.job_id == job_id)).mappings().all()
        connection.execute(insert(table), [{**each, "job_id": to} for each in rows])
