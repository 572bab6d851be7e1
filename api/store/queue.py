"""The queue: which job is next for a worker, what waits, and for what.

Jobs that a worker left behind come first, of these the ones that are only to be ended. Of those
that wait, priority goes first, then the project with the fewest running jobs, then the one whose
last job started the longest ago, then age. So a project that asks for many keeps nobody waiting for
more than one.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, func, select, update

from autotune.api.errors import UnreadableRecord
from autotune.api.events import Released
from autotune.api.needs import Needs
from autotune.api.records import read
from autotune.api.states import HELD, State
from autotune.api.store.advance import Cell, Step, advance
from autotune.api.store.database import Database, lapsed, live
from autotune.api.store.tables import attempts, jobs
from autotune.api.store.workers import there
from autotune.api.values import SeenWorker, Waiting, WaitsFor, WorkerInfo
from autotune.events import Notice

AT_ONCE = 50
"""Jobs that one transaction tells of."""
_IS_HELD = jobs.c.state.in_(sorted(HELD))
_OF_PROJECT = jobs.alias()
_COLUMNS = [
    jobs.c[name]
    for name in (
        *("id", "seq", "project", "state", "attempt", "trials", "workload"),
        *("devices", "needs", "priority", "reason"),
    )
]
_LATEST = (
    select(func.max(_OF_PROJECT.c.started_at))
    .where(_OF_PROJECT.c.project == jobs.c.project)
    .scalar_subquery()
)


class Unserved(NamedTuple):
    """Jobs that wait for a worker that is not there."""

    workload: str
    devices: str | None
    """On which they were measured; None where any would do."""
    needed: str
    """What else its worker must have, in a few words."""
    jobs: int


def queued(connection: Connection) -> list[Row[Any]]:
    """Return the jobs that wait or were left behind, in the order in which they are claimed."""
    waits = select(*_COLUMNS, _LATEST.label("latest")).where(jobs.c.state == State.QUEUED)
    left = select(*_COLUMNS).where(_IS_HELD, lapsed(jobs.c.expires_at))
    running = select(jobs.c.project, func.count()).where(_IS_HELD, live(jobs.c.expires_at))
    rows: Sequence[Any] = connection.execute(waits).all()
    behind = connection.execute(left.order_by(jobs.c.state, jobs.c.seq)).all()
    counts = connection.execute(running.group_by(jobs.c.project)).all()
    return [*behind, *_in_turns(rows, Counter({row[0]: row[1] for row in counts}))]


def next_job(connection: Connection, post: WorkerInfo) -> Row[Any] | None:
    """Return the next job for a worker; others may take it or change it meanwhile."""
    return next((row for row in queued(connection) if _fits(post, row)), None)


def unserved(connection: Connection) -> tuple[Unserved, ...]:
    workers = there(connection)
    rows = [each for each in queued(connection) if each.state != State.CANCELLING]
    found = Counter(
        (row.workload, row.devices, str(_needs(row.needs)))
        for row in rows
        if not _served(workers, row)
    )
    return tuple(Unserved(*kind, number) for kind, number in found.items())


def tell_unserved(database: Database) -> None:
    """Tell, once, what jobs wait for that no worker serves; take it back where one has come."""
    with database.reading() as connection:
        workers = there(connection)
        rows = [each for each in queued(connection) if each.state != State.CANCELLING]
        served = {row.id: _served(workers, row) for row in rows}
    untold = [row for row in rows if not served[row.id] and row.reason is None]
    told = [row.id for row in rows if served[row.id] and row.reason]
    for first in range(0, len(untold), AT_ONCE):
        with database.writing() as connection:
            for row in untold[first : first + AT_ONCE]:
                advance(connection, row.id, State(row.state), _telling(row), row.attempt)
    if told:
        with database.writing() as connection:
            those = and_(jobs.c.id.in_(told), jobs.c.state == State.QUEUED)
            connection.execute(update(jobs).where(those).values(reason=None))


def waiting(connection: Connection, job: Row[Any]) -> Waiting | None:
    """Return what a job waits for; None if it does not wait."""
    if job.state == State.RUNNING and not _has_begun(connection, job):
        return Waiting(kind=WaitsFor.MACHINE)
    if job.state != State.QUEUED:
        return None
    able = [each for each in there(connection) if _serves(each, job)]
    if not able:
        return Waiting(kind=WaitsFor.WORKER)
    rivals = [row.id for row in queued(connection) if _served(able, row)]
    if job.id not in rivals:  # It was claimed at this moment.
        return None
    return Waiting(kind=WaitsFor.TURN, before=rivals.index(job.id))


def _has_begun(connection: Connection, job: Row[Any]) -> bool:
    mine = (attempts.c.job_id == job.id, attempts.c.number == job.attempt)
    return connection.execute(select(attempts.c.began_at).where(*mine)).scalar() is not None


def _in_turns(rows: Iterable[Row[Any]], running: Counter[str]) -> Iterator[Row[Any]]:
    """Yield jobs as they are claimed if each has ended before the next: projects take turns."""
    queues: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda each: (-each.priority, each.seq), reverse=True):
        queues[row.project].append(row)
    latest = {name: mine[0].latest or 0.0 for name, mine in queues.items()}
    later = count(max(latest.values(), default=0.0) + 1)

    def turn(name: str) -> tuple[Any, ...]:
        first = queues[name][-1]
        return -first.priority, running[name], latest[name], first.seq, name

    turns = [turn(name) for name in queues]
    heapq.heapify(turns)
    while turns:
        name = heapq.heappop(turns)[-1]
        yield queues[name].pop()
        latest[name] = next(later)
        if queues[name]:
            heapq.heappush(turns, turn(name))


def _fits(post: WorkerInfo, job: Row[Any]) -> bool:
    """Return whether a job is one for a worker."""
    if job.state == State.CANCELLING:  # Ending it can be done by any.
        return True
    return (
        # What was measured on other devices says nothing here.
        job.devices in (None, post.devices)
        and (post.workloads is None or job.workload in post.workloads)
        and _needs(job.needs).met_by(post.machine, post.labels)
    )


def _served(workers: Iterable[SeenWorker], job: Row[Any]) -> bool:
    return any(_serves(each, job) for each in workers)


def _serves(worker: SeenWorker, job: Row[Any]) -> bool:
    """Return whether a worker takes a job, now or once it is free."""
    return (
        not worker.draining
        and job.devices in (None, worker.devices)
        and job.workload in worker.workloads
        and _needs(job.needs).met_by(worker.machine, worker.labels)
    )


@lru_cache(maxsize=1024)
def _needs(record: str | None) -> Needs:
    """Return what a job needs; one whose record is damaged goes anywhere, and fails there."""
    try:
        return Needs() if record is None else read(Needs, record)
    except UnreadableRecord:
        return Needs()


def _telling(row: Row[Any]) -> Step:
    devices = "" if row.devices is None else f" on the devices {row.devices!r}"
    needs = f", {_needs(row.needs)}" if row.needs else ""
    what = f"the workload {row.workload!r}{devices}{needs}"
    reason = f"Waits for a worker with {what}; none is there."
    columns: dict[str, Cell] = {"reason": reason}
    if row.state == State.QUEUED:
        return Step(events=[Notice(text=reason)], columns=columns)
    # Its worker is gone; it must not seem to run.
    told = Released(attempt=row.attempt, reason=reason)
    return Step(to=State.QUEUED, events=[told], columns={**columns, "expires_at": None})
