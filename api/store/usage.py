"""The use of the service: the quotas of a project, the activity, and the removal of old jobs."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from autotune.api.settings import Quotas
from autotune.api.store.attempts import unserved
from autotune.api.store.database import Database, Now, insert_new
from autotune.api.store.reading import total_of
from autotune.api.store.tables import attempts, events, jobs, totals, trials
from autotune.text import plural
from autotune.wire.errors import QuotaExceeded
from autotune.wire.jobs import UNFINISHED, State

AT_ONCE = 50
"""Jobs that one transaction removes, so that others need not wait long for its end."""
_ROOM = tuple(f"room {number}".ljust(2000) for number in range(4))
"""Names of totals by which it is found out whether there is room."""
_REMOVED = "device_seconds"


def check_quotas(connection: Connection, project: str, quotas: Quotas, wanted: float) -> None:
    """Refuse a job of so many seconds if its project would have more than it may."""
    mine = jobs.c.project == project
    waits = select(func.count()).where(mine, jobs.c.state == State.QUEUED)
    if connection.execute(waits).scalar_one() >= quotas.queued:
        raise QuotaExceeded(
            f"This project may have at most {plural(quotas.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    # As a value: PostgreSQL plans for it, and scans all attempts for one that it does not know.
    since = connection.execute(select(Now() - quotas.window_seconds)).scalar_one()
    ended = jobs.join(attempts, jobs.c.id == attempts.c.job_id)
    used = select(total_of()).select_from(ended).where(mine, jobs.c.ended_at > since)
    asked = select(func.coalesce(func.sum(jobs.c.budget_seconds), 0.0))
    asked = asked.where(mine, jobs.c.state.in_(UNFINISHED))
    taken = connection.execute(used).scalar_one() + connection.execute(asked).scalar_one()
    if taken + wanted > quotas.device_seconds:
        raise QuotaExceeded(
            f"This project may use the devices for {quotas.device_seconds:.0f} s within "
            f"{quotas.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )


class Activity(NamedTuple):
    """The activity of a service, now and so far; times in seconds."""

    states: Mapping[State, int]
    unserved: int
    """Jobs that wait for a worker that is not there."""
    device_seconds: float
    """Time spent on the searches of all jobs, removed ones included."""
    oldest: float


def activity(connection: Connection) -> Activity:
    by_state = select(jobs.c.state, func.count()).group_by(jobs.c.state)
    states: dict[str, int] = {row[0]: row[1] for row in connection.execute(by_state).all()}
    removed = select(totals.c.value).where(totals.c.name == _REMOVED).scalar_subquery()
    spent = select(total_of() + func.coalesce(removed, 0.0))
    age = select(Now() - jobs.c.created_at).where(jobs.c.state == State.QUEUED)
    oldest = connection.execute(age.order_by(jobs.c.seq).limit(1)).scalar()
    return Activity(
        states={state: states.get(state, 0) for state in State},
        unserved=unserved(connection),
        device_seconds=float(connection.execute(spent).scalar_one()),
        oldest=oldest or 0.0,
    )


def check_room(connection: Connection) -> None:
    """Add something that takes some pages, and take it away again."""
    connection.execute(insert(totals), [{"name": each, "value": 0.0} for each in _ROOM])
    connection.execute(delete(totals).where(totals.c.name.in_(_ROOM)))


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
        seconds = select(total_of()).where(attempts.c.job_id.in_(found)).scalar_subquery()
        connection.execute(insert_new(connection, totals, name=_REMOVED, value=0.0))
        total = update(totals).where(totals.c.name == _REMOVED)
        connection.execute(total.values(value=totals.c.value + seconds))
        for table in (events, trials, attempts):
            connection.execute(delete(table).where(table.c.job_id.in_(found)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(found)))
    return len(found)


def still_there(database: Database, job_ids: Collection[str]) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(jobs.c.id).where(jobs.c.id.in_(job_ids))).scalars())
