"""Removing what is old: jobs that ended long ago, and idempotency keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, select, update

from autotune.api.store.database import Database, Now, insert_new
from autotune.api.store.reading import total_of
from autotune.api.store.tables import attempts, events, idempotency, jobs, totals, trials

AT_ONCE = 50
"""Jobs that one transaction removes, so that nobody waits long for its end."""
REMOVED = "device_seconds"


def forget_keys(database: Database, older_seconds: float) -> None:
    with database.writing() as connection:
        old = idempotency.c.created_at < Now() - older_seconds
        connection.execute(delete(idempotency).where(old))


def remove_ended(database: Database, older_seconds: float) -> int:
    """Remove some jobs that ended before a certain time, oldest first, with all that is of them."""
    with database.writing() as connection:
        # As a value: PostgreSQL uses no index for a clock that it reads row by row.
        until = connection.execute(select(Now() - older_seconds)).scalar_one()
        old = select(jobs.c.id).where(jobs.c.ended_at < until)
        query = old.order_by(jobs.c.ended_at).limit(AT_ONCE)
        found = connection.execute(query).scalars().all()
        if not found:
            return 0
        _count_removed(connection, found)
        for table in (events, trials, attempts, idempotency):
            connection.execute(delete(table).where(table.c.job_id.in_(found)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(found)))
    return len(found)


def _count_removed(connection: Connection, job_ids: Sequence[str]) -> None:
    seconds = select(total_of()).where(attempts.c.job_id.in_(job_ids)).scalar_subquery()
    connection.execute(insert_new(connection, totals, name=REMOVED, value=0.0))
    kept = update(totals).where(totals.c.name == REMOVED)
    connection.execute(kept.values(value=totals.c.value + seconds))


def still_there(database: Database, job_ids: Collection[str]) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(jobs.c.id).where(jobs.c.id.in_(job_ids))).scalars())
