"""Ended jobs are removed when the operator's time for keeping them is over."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, select

from autotune.api.states import FINAL
from autotune.api.store.clock import Now
from autotune.api.store.database import Database
from autotune.api.tables import attempts, events, idempotency, jobs, trials

AT_ONCE = 50
"""Jobs that one transaction removes, so that nobody waits long for its end."""


def remove_ended(database: Database, older_seconds: float) -> int:
    """Remove some jobs that ended before a certain time, oldest first, with all that is of them.

    Returns:
        How many; fewer than `AT_ONCE` if none are left.
    """
    old = (jobs.c.state.in_(FINAL), jobs.c.ended_at < Now() - older_seconds)
    query = select(jobs.c.id).where(*old).order_by(jobs.c.seq).limit(AT_ONCE)
    with database.writing() as connection:
        found = connection.execute(query).scalars().all()
        for table in (events, trials, attempts, idempotency):
            connection.execute(delete(table).where(table.c.job_id.in_(found)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(found)))
    return len(found)


def still_there(database: Database, job_ids: Collection[str]) -> set[str]:
    """Return those of some jobs that are kept."""
    with database.reading() as connection:
        return set(connection.execute(select(jobs.c.id).where(jobs.c.id.in_(job_ids))).scalars())
