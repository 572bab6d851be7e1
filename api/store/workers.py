"""The workers: which are there, what waits for one that is not, and what their devices are."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from autotune.api.events import Released
from autotune.api.records import read, written
from autotune.api.states import State
from autotune.api.store.advance import Cell, Step, advance
from autotune.api.store.database import Database, Now, insert_new, lapsed
from autotune.api.store.tables import jobs, leases, workers
from autotune.api.values import Post
from autotune.events import Notice
from autotune.machine import Machine

SEEN_SECONDS = 90.0
"""A worker that was not heard of for so long is gone."""
AT_ONCE = 50
"""Jobs that one transaction tells of."""
_LEFT = and_(jobs.c.state == State.RUNNING, lapsed(jobs.c.expires_at))
_WAITS = or_(jobs.c.state == State.QUEUED, _LEFT)


class Unserved(NamedTuple):
    """Jobs that wait for a worker that is not there."""

    workload: str
    devices: str | None
    """On which they were measured; None where any would do."""
    jobs: int

    def __str__(self) -> str:
        """Return what they wait for, in a sentence."""
        what = "" if self.devices is None else f" on the devices {self.devices!r}"
        return f"Waits for a worker with the workload {self.workload!r}{what}; none is there."


def seen(database: Database, post: Post) -> None:
    """Note that a worker is there, and forget those that are gone."""
    has = json.dumps(sorted(post.workloads or ()))
    with database.writing() as connection:
        connection.execute(delete(workers).where(or_(_gone(), workers.c.name == post.worker)))
        row = insert(workers).values(name=post.worker, devices=post.devices, workloads=has)
        connection.execute(row.values(seen_at=Now()))


def leave(database: Database, post: Post) -> None:
    """Forget a worker that ends."""
    with database.writing() as connection:
        connection.execute(delete(workers).where(workers.c.name == post.worker))


def count(database: Database) -> int:
    """Return how many workers are there."""
    with database.reading() as connection:
        query = select(func.count()).select_from(workers).where(~_gone())
        return int(connection.execute(query).scalar_one())


def unserved(database: Database) -> tuple[Unserved, ...]:
    """Return what waits for a worker that is not there."""
    kinds = select(jobs.c.workload, jobs.c.devices, func.count())
    kinds = kinds.where(_WAITS).group_by(jobs.c.workload, jobs.c.devices)
    with database.reading() as connection:
        waiting = [Unserved(*row) for row in connection.execute(kinds).all()]
        there = connection.execute(select(workers).where(~_gone())).all()
    return tuple(each for each in waiting if not any(_serves(row, each) for row in there))


def tell_unserved(database: Database) -> None:
    """Tell, once, what jobs wait for that no worker serves."""
    for each in unserved(database):
        with database.writing() as connection:
            _tell(connection, each)


def remember_machine(database: Database, devices: str, machine: Machine) -> None:
    """Keep what some devices are."""
    with database.writing() as connection:
        connection.execute(insert_new(connection, leases, devices=devices))
        mine = update(leases).where(leases.c.devices == devices)
        connection.execute(mine.values(machine=written(machine)))


def known_machine(database: Database, devices: str) -> Machine | None:
    """Return what some devices were when somebody last looked, or None.

    Raises:
        UnreadableRecord: Another version has looked.
    """
    query = select(leases.c.machine).where(leases.c.devices == devices)
    with database.reading() as connection:
        found = connection.execute(query).scalar()
    return None if found is None else read(Machine, found)


def _gone() -> ColumnElement[bool]:
    return workers.c.seen_at < Now() - SEEN_SECONDS


def _serves(worker: Row[Any], what: Unserved) -> bool:
    fits = what.devices in (None, worker.devices)
    return fits and what.workload in json.loads(worker.workloads)


def _tell(connection: Connection, what: Unserved) -> None:
    alike = (jobs.c.workload == what.workload, jobs.c.devices.is_not_distinct_from(what.devices))
    query = select(jobs.c.id, jobs.c.state, jobs.c.attempt).where(_WAITS, *alike)
    untold = query.where(jobs.c.reason.is_(None)).limit(AT_ONCE)
    for row in connection.execute(untold.with_for_update(skip_locked=True)).all():
        columns: dict[str, Cell] = {"reason": str(what)}
        if row.state == State.QUEUED:
            step = Step(events=[Notice(text=str(what))], columns=columns)
        else:
            # Whoever had it is gone; it must not seem to run.
            told = Released(attempt=row.attempt, reason=str(what))
            step = Step(to=State.QUEUED, events=[told], columns={**columns, "expires_at": None})
        advance(connection, row.id, step)
