"""A database with many jobs: one is run, the others are copies of it."""

import secrets
from collections.abc import Sequence
from random import Random
from typing import Any

from sqlalchemy import Connection, Table, create_engine, insert, select, text

from autotune.api.settings import Quotas, Settings
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import attempts, events, jobs, trials
from autotune.api.work.worker import Worker
from autotune.wire.jobs import JobRequest, State

TRIALS = 40
PROJECTS = 50
WORKLOADS = ("digits", "speech", "images", "text")
"""Of the jobs that wait; a worker that has the first alone has to find its own among them."""
OWN = "project 0"
_AT_ONCE = 1000
"""Rows of one statement."""
_MADE = ("seq",)
"""Columns that the database makes."""


def fill(database: Database, settings: Settings, count: int, most: int = TRIALS) -> Sequence[str]:
    """Make so many jobs that are done, each after so many trials at most; return those of `OWN`."""
    first = _run(database, settings, most)
    copies = [secrets.token_hex(12) for _ in range(count - 1)]
    # Its transactions may take as long as they need.
    with database.migrating() as connection:
        row = _row(connection, first)
        owned = enumerate(copies)
        _add(connection, [{**row, "id": each, "project": _project(n)} for n, each in owned])
        for table in (trials, events, attempts):
            _copy(connection, table, first, row["seq"], most)
    _settle(database)
    return [first, *copies[::PROJECTS]]


def fill_queue(database: Database, like: str, count: int) -> None:
    """Have so many jobs wait, of several projects, workloads and priorities."""
    random = Random(1)  # noqa: S311 - no secret
    gone = ("verdict", "summary", "reason", "recommendation", "code", "study")
    fresh = dict.fromkeys((*gone, "devices", "expires_at", "started_at", "ended_at"))
    with database.migrating() as connection:
        row = _row(connection, like) | fresh
        row |= {"state": State.QUEUED, "attempt": 0, "trials": 0, "events": 0}
        waiting = (
            {
                **row,
                "id": secrets.token_hex(12),
                "project": _project(random.randrange(PROJECTS)),
                "workload": random.choice(WORKLOADS),
                "priority": random.choice((0, 0, 0, 1)),
            }
            for _ in range(count)
        )
        _add(connection, list(waiting))
    _settle(database)


def _project(number: int) -> str:
    return f"project {number % PROJECTS}"


def _run(database: Database, settings: Settings, most: int) -> str:
    service = Jobs(database, settings.registry(), Quotas())
    asked = JobRequest(workload="digits", space="cpu", budget="1h", max_trials=most)
    job = service.submit(asked, OWN)
    Worker(database, settings).run_one()
    done = service.get(job.id, None)
    if done.state is not State.DONE:
        raise RuntimeError(f"the job that is to be copied is {done.state}: {done.reason}")
    return job.id


def _row(connection: Connection, job_id: str) -> dict[str, Any]:
    return dict(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())


def _add(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        connection.execute(
            insert(jobs), [{k: v for k, v in each.items() if k not in _MADE} for each in some]
        )


def _copy(connection: Connection, table: Table, job_id: str, after: int, most: int) -> None:
    """Give the first rows of a job to all that came later; finals made more than it asked for."""
    others = [each for each in table.c if each.name != "job_id"]
    later = table.join(jobs, jobs.c.seq > after)
    mine = (table.c.job_id == job_id, table.c.number < most)
    query = select(jobs.c.id, *others).select_from(later).where(*mine)
    connection.execute(insert(table).from_select(["job_id", *(c.name for c in others)], query))


def _settle(database: Database) -> None:
    """Have the database know its own sizes, and write what it has to, as it does after a while."""
    with database.migrating() as connection:
        connection.execute(text("ANALYZE"))
        url = connection.engine.url
    if url.get_backend_name() == "postgresql":
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text("VACUUM ANALYZE"))
            connection.execute(text("CHECKPOINT"))
        engine.dispose()
