"""What a service has done lately, for its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from autotune.api.states import State
from autotune.api.store.database import Now, insert_new
from autotune.api.store.queue import unserved
from autotune.api.store.reading import total_of
from autotune.api.store.removal import REMOVED
from autotune.api.store.tables import jobs, totals
from autotune.reason import Outcome

LATEST = 100
"""Jobs whose waits and runs are reported."""
_ROOM = tuple(f"room {number}".ljust(2000) for number in range(4))
"""Names of totals by which it is found out whether there is room."""
_TRIALS = "trials "
"""Begins the name of a total of trials of some outcome."""


class Activity(NamedTuple):
    """What a service does, and has done lately; times in seconds."""

    states: Mapping[State, int]
    """How many jobs are in each."""
    unserved: Mapping[tuple[str, str, str], int]
    """How many wait for a worker that is not there, by workload, devices and needs."""
    device_seconds: float
    """What all jobs have spent on their searches, removed ones too."""
    oldest: float
    """Age of the oldest job that waits."""
    waits: tuple[float, ...]
    """How long the latest jobs that ended waited for a worker."""
    runs: tuple[float, ...]
    """How long they ran."""
    trials: Mapping[str, int]
    """How many trials ended so far, by outcome."""


def activity(connection: Connection) -> Activity:
    by_state = select(jobs.c.state, func.count()).group_by(jobs.c.state)
    states: dict[str, int] = {row[0]: row[1] for row in connection.execute(by_state).all()}
    removed = select(totals.c.value).where(totals.c.name == REMOVED).scalar_subquery()
    spent = select(total_of() + func.coalesce(removed, 0.0))
    age = select(Now() - jobs.c.created_at).where(jobs.c.state == State.QUEUED)
    oldest = connection.execute(age.order_by(jobs.c.seq).limit(1)).scalar()
    times = select(jobs.c.created_at, jobs.c.started_at, jobs.c.ended_at)
    ended = times.where(jobs.c.ended_at.is_not(None)).order_by(jobs.c.ended_at.desc())
    # Those that were cancelled before they began are left out.
    rows = [row for row in connection.execute(ended.limit(LATEST)).all() if row.started_at]
    counted = select(totals.c.name, totals.c.value).where(totals.c.name.startswith(_TRIALS))
    trials = {row.name: int(row.value) for row in connection.execute(counted).all()}
    return Activity(
        states={state: states.get(state, 0) for state in State},
        unserved=unserved(connection),
        device_seconds=float(connection.execute(spent).scalar_one()),
        oldest=oldest or 0.0,
        waits=tuple(row.started_at - row.created_at for row in rows),
        runs=tuple(row.ended_at - row.started_at for row in rows),
        trials={each: trials.get(_TRIALS + each, 0) for each in Outcome},
    )


def count_trial(connection: Connection, outcome: Outcome) -> None:
    name = _TRIALS + outcome
    connection.execute(insert_new(connection, totals, name=name, value=0.0))
    mine = update(totals).where(totals.c.name == name)
    connection.execute(mine.values(value=totals.c.value + 1))


def check_room(connection: Connection) -> None:
    """Add something that takes some pages, and take it away again."""
    connection.execute(insert(totals), [{"name": each, "value": 0.0} for each in _ROOM])
    connection.execute(delete(totals).where(totals.c.name.in_(_ROOM)))
