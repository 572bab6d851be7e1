"""The queue: which job is next for a worker, what waits, and for what.

Jobs that a worker left behind come first, of these the ones that are only to be ended. Of those
that wait, priority goes first, then the project with the fewest running jobs, then the one whose
last job started the longest ago, then age. So a project that asks for many keeps nobody waiting for
more than one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count, groupby
from typing import Any

from sqlalchemy import Connection, Row, and_, func, select, update

from autotune.api.store.advance import Cell, Step, advance
from autotune.api.store.database import Database, lapsed, live
from autotune.api.store.tables import IS_HELD, attempts, jobs
from autotune.api.store.workers import there
from autotune.api.values import WorkerInfo, read
from autotune.events import Notice
from autotune.wire.errors import UnreadableRecord
from autotune.wire.events import Released
from autotune.wire.jobs import Needs, SeenWorker, State, Waiting, WaitsFor

AT_ONCE = 50
_OF_A_JOB = ("id", "seq", "project", "state", "attempt", "trials", "workload", "digest")
_COLUMNS = jobs.c[(*_OF_A_JOB, "devices", "needs", "priority", "reason")]
_LEFT = select(*_COLUMNS).where(IS_HELD, lapsed(jobs.c.expires_at))
_WAITS = select(*_COLUMNS).where(jobs.c.state == State.QUEUED)


def queued(connection: Connection) -> Iterator[Row[Any]]:
    """Yield the jobs that wait or were left behind, in the order in which they are claimed."""
    yield from connection.execute(_LEFT.order_by(jobs.c.state, jobs.c.seq)).all()
    running = select(jobs.c.project).where(IS_HELD, live(jobs.c.expires_at))
    rows: Sequence[Any] = connection.execute(_WAITS).all()
    busy = Counter(connection.execute(running).scalars().all())
    yield from _in_turns(rows, busy, _latest(connection))


def next_job(connection: Connection, info: WorkerInfo) -> Row[Any] | None:
    return next((row for row in queued(connection) if _may_take(info, row)), None)


def has_job(connection: Connection, info: WorkerInfo) -> bool:
    """Return whether there is a job for a worker, whichever is next."""
    rows = (row for query in (_LEFT, _WAITS) for row in connection.execute(query))
    return any(_may_take(info, row) for row in rows)


def unserved(connection: Connection) -> int:
    """Return how many jobs wait for a worker that is not there."""
    return sum(not served for _, served in _with_service(connection))


def mark_unserved(database: Database) -> None:
    """Set the reason of jobs that no worker serves, once; clear it where one has come."""
    with database.reading() as connection:
        rows = [*_with_service(connection)]
    unmarked = [row for row, served in rows if not served and row.reason is None]
    marked = [row.id for row, served in rows if served and row.reason]
    for first in range(0, len(unmarked), AT_ONCE):
        with database.writing() as connection:
            for row in unmarked[first : first + AT_ONCE]:
                advance(connection, row.id, State(row.state), _unserved_step(row), row.attempt)
    if marked:
        with database.writing() as connection:
            those = and_(jobs.c.id.in_(marked), jobs.c.state == State.QUEUED)
            connection.execute(update(jobs).where(those).values(reason=None))


def _with_service(connection: Connection) -> Iterator[tuple[Row[Any], bool]]:
    """Yield the jobs that are to run, each with whether a worker is there that takes it."""
    able = _taking(connection)
    for row in queued(connection):
        if row.state != State.CANCELLING:
            yield row, any(_suits(each, row) for each in able)


def waiting(connection: Connection, job: Row[Any]) -> Waiting | None:
    if job.state == State.RUNNING:
        mine = (attempts.c.job_id == job.id, attempts.c.number == job.attempt)
        began = connection.execute(select(attempts.c.began_at).where(*mine)).scalar()
        return Waiting(kind=WaitsFor.MACHINE) if began is None else None
    if job.state != State.QUEUED:
        return None
    able = [each for each in _taking(connection) if _suits(each, job)]
    if not able:
        return Waiting(kind=WaitsFor.WORKER)
    among = [row.id for row in queued(connection) if any(_suits(each, row) for each in able)]
    if job.id not in among:  # It was claimed at this moment.
        return None
    return Waiting(kind=WaitsFor.TURN, before=among.index(job.id))


def _latest(connection: Connection) -> dict[str, float]:
    """Return when the last job of each project began that has jobs in the queue."""
    asks = select(jobs.c.project).where(jobs.c.state == State.QUEUED).distinct().subquery()
    began = select(func.max(jobs.c.started_at)).where(jobs.c.project == asks.c.project)
    rows = connection.execute(select(asks.c.project, began.scalar_subquery())).all()
    return {row[0]: row[1] or 0.0 for row in rows}


def _in_turns(
    rows: Iterable[Row[Any]], running: Counter[str], latest: dict[str, float]
) -> Iterator[Row[Any]]:
    """Yield jobs as they are claimed if each has ended before the next: projects take turns."""
    later = count(max(latest.values(), default=0.0) + 1)
    ordered = sorted(rows, key=lambda each: (-each.priority, each.seq))
    for _, equal in groupby(ordered, lambda each: each.priority):
        turn, first, places = Counter[str](), dict[str, int](), list[tuple[Any, ...]]()
        for row in equal:
            mine = row.project
            order = latest.get(mine, 0.0), first.setdefault(mine, row.seq)
            places.append((running[mine], turn[mine], *order, row))
            turn[mine] += 1
        for *_, row in sorted(places):
            yield row
            latest[row.project] = next(later)


def _taking(connection: Connection) -> list[SeenWorker]:
    """Return the workers that take a job, now or once they are free."""
    return [each for each in there(connection) if not each.draining]


def _may_take(worker: WorkerInfo, job: Row[Any]) -> bool:
    # Ending a job can be done by any.
    return job.state == State.CANCELLING or _suits(worker, job)


def _suits(worker: WorkerInfo | SeenWorker, job: Row[Any]) -> bool:
    return (
        # Measurements on other devices do not hold here.
        (not job.trials or job.devices in (None, worker.devices))
        and _has_code(worker, job)
        and _needs(job.needs).met_by(worker.machine, worker.labels)
    )


def _has_code(worker: WorkerInfo | SeenWorker, job: Row[Any]) -> bool:
    if job.digest is not None:
        return bool(worker.takes_code)
    return worker.workloads is None or job.workload in worker.workloads


@lru_cache(maxsize=1024)
def _needs(record: str | None) -> Needs:
    """Return what a job needs; one whose record is damaged goes anywhere, and fails there."""
    try:
        return Needs() if record is None else read(Needs, record)
    except UnreadableRecord:
        return Needs()


def _unserved_step(row: Row[Any]) -> Step:
    devices = "" if row.devices is None else f" on the devices {row.devices!r}"
    needs = f", {_needs(row.needs)}" if row.needs else ""
    code = (
        f"with the workload {row.workload!r}" if row.digest is None else "that runs uploaded code"
    )
    reason = f"Waits for a worker {code}{devices}{needs}; none is there."
    columns: dict[str, Cell] = {"reason": reason}
    if row.state == State.QUEUED:
        return Step(events=[Notice(text=reason)], columns=columns)
    # Its worker is gone; it must not seem to run.
    marked = Released(attempt=row.attempt, reason=reason)
    return Step(to=State.QUEUED, events=[marked], columns={**columns, "expires_at": None})
