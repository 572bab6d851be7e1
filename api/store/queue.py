"""The queue: which job is next for a worker, what waits, and for what.

Jobs that a worker left behind come first. Of those that wait, priority goes first, then the owner
with the fewest running jobs, then the one whose last job started the longest ago, then age. So an
owner who asks for many keeps nobody waiting for more than one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from autotune.api.errors import UnreadableRecord
from autotune.api.events import Released
from autotune.api.needs import Needs, met
from autotune.api.records import OTHER_VERSION, read
from autotune.api.states import HELD, State
from autotune.api.store.advance import Cell, Step, advance
from autotune.api.store.database import Database, Now, lapsed, live, lock
from autotune.api.store.reading import spent
from autotune.api.store.tables import jobs, leases
from autotune.api.store.workers import there
from autotune.api.values import Job, Post, SeenWorker, Waiting, WaitsFor
from autotune.events import Notice

AT_ONCE = 50
"""Jobs that one transaction tells of."""
MOST_WAITING = 500
"""Of more jobs that wait nobody is told which is when."""
_LEFT = and_(jobs.c.state == State.RUNNING, lapsed(jobs.c.expires_at))
_WAITS = or_(jobs.c.state == State.QUEUED, _LEFT)
_KIND = (jobs.c.workload, jobs.c.devices, jobs.c.needs)
"""What a worker must have for a job."""
_PLACE = (
    *_KIND,
    *(jobs.c[name] for name in ("id", "seq", "owner", "precedence", "budget_seconds")),
)
"""What decides when its turn is."""


class Unserved(NamedTuple):
    """Jobs that wait for a worker that is not there."""

    workload: str
    devices: str | None
    """On which they were measured; None where any would do."""
    needs: str | None
    """What else its worker must have."""
    jobs: int

    @property
    def needed(self) -> str:
        """The needs in a few words."""
        try:
            return "" if self.needs is None else str(read(Needs, self.needs))
        except UnreadableRecord:
            return OTHER_VERSION

    def __str__(self) -> str:
        """Return what they wait for, in a sentence."""
        devices = "" if self.devices is None else f" on the devices {self.devices!r}"
        needs = f", {self.needed}" if self.needs else ""
        what = f"the workload {self.workload!r}{devices}{needs}"
        return f"Waits for a worker with {what}; none is there."


def next_job(connection: Connection, post: Post) -> Row[Any] | None:
    """Return the next job for a worker, if there is one: id, state, attempt, number of trials."""
    has_any = post.workloads is None
    given: dict[str, Any] = {"devices": post.devices, "needs": _needs_met(connection, post)}
    given |= {} if has_any else {"workloads": sorted(post.workloads or ())}
    for query in (_left_behind(has_any=has_any), _queued(has_any=has_any)):
        row = connection.execute(query, given).first()
        if row is not None:
            return row
    return None


def take_next(connection: Connection, post: Post) -> Row[Any] | None:
    """Return the next job for a worker, which nobody else changes until the transaction ends."""
    # One after the other: of two at once both would find the same one.
    lock(connection, "queue")
    found = next_job(connection, post)
    if found is not None:
        own = jobs.c.id == found.id
        query = select(jobs.c.state).where(own).with_for_update(skip_locked=True)
        if connection.execute(query).scalar() != found.state:
            return None
    return found


def unserved(connection: Connection) -> tuple[Unserved, ...]:
    """Return what waits for a worker that is not there."""
    return tuple(_kinds(connection)[1])


def tell_unserved(database: Database) -> None:
    """Tell, once, what jobs wait for that no worker serves; take it back where one has come."""
    with database.reading() as connection:
        served, others = _kinds(connection)
    for each in others:
        with database.writing() as connection:
            _tell(connection, each)
    for each in served:
        with database.writing() as connection:
            told = and_(jobs.c.state == State.QUEUED, jobs.c.reason.is_not(None), *_alike(each))
            connection.execute(update(jobs).where(told).values(reason=None))


def waiting(connection: Connection, job: Job) -> Waiting | None:
    """Return what a job waits for; None if it does not wait."""
    if job.state is not State.QUEUED:
        return None
    mine = connection.execute(select(*_PLACE).where(jobs.c.id == job.id)).one()
    servers = [each for each in there(connection) if _serves(each, mine)]
    if not servers:
        return Waiting(kind=WaitsFor.WORKER)
    rows = connection.execute(select(*_PLACE).where(_WAITS).limit(MOST_WAITING + 1)).all()
    if len(rows) > MOST_WAITING:
        return Waiting(kind=WaitsFor.TURN)
    rivals = [row for row in rows if any(_serves(each, row) for each in servers)]
    before = []
    for row in _in_turn(connection, rivals):
        if row.id == job.id:
            break
        before.append(row)
    start = _start(_free_at(connection, {each.devices for each in servers}), before)
    return Waiting(kind=WaitsFor.TURN, before=len(before), expected_start=start)


@cache  # Making it takes longer than running it.
def _left_behind(*, has_any: bool) -> Select[Any]:
    """Return the query for the next job that was left behind, for a worker that is given with it.

    Args:
        has_any: Whether the worker takes any workload.
    """
    left = and_(jobs.c.state.in_(HELD), lapsed(jobs.c.expires_at))
    # Ending a job can be done by anybody.
    fits = or_(jobs.c.state == State.CANCELLING, and_(*_fits(jobs, has_any=has_any)))
    return _found(jobs).where(left, fits).order_by(jobs.c.state, jobs.c.seq).limit(1)


@cache
def _queued(*, has_any: bool) -> Select[Any]:
    """Return the query for the next job that waits: of each owner its first, of these the first.

    The owners are found one after the other by an index, however many jobs each of them has.
    """
    of_owner, others = jobs.alias(), jobs.alias()
    queued = jobs.c.state == State.QUEUED
    owners = select(func.min(jobs.c.owner).label("owner")).where(queued).cte(recursive=True)
    later = and_(of_owner.c.state == State.QUEUED, of_owner.c.owner > owners.c.owner)
    following = select(func.min(of_owner.c.owner)).where(later).scalar_subquery()
    owners = owners.union_all(select(following).where(owners.c.owner.is_not(None)))
    mine = and_(of_owner.c.state == State.QUEUED, of_owner.c.owner == owners.c.owner)
    first = select(of_owner.c.seq).where(mine, *_fits(of_owner, has_any=has_any))
    first = first.order_by(of_owner.c.precedence, of_owner.c.seq).limit(1)
    heads = select(first.scalar_subquery().label("seq")).select_from(owners).subquery()
    own = others.c.owner == jobs.c.owner
    running = select(func.count()).where(own, others.c.state.in_(HELD)).scalar_subquery()
    latest = select(func.max(others.c.started_at)).where(own).scalar_subquery()
    turn = (jobs.c.precedence, running, func.coalesce(latest, 0.0), jobs.c.seq)
    return _found(jobs).join(heads, heads.c.seq == jobs.c.seq).order_by(*turn).limit(1)


def _found(table: FromClause) -> Select[Any]:
    return select(*(table.c[name] for name in ("id", "state", "attempt", "trials")))


def _fits(table: FromClause, *, has_any: bool) -> Iterator[ColumnElement[bool]]:
    """Yield what makes a job one for a worker."""
    # What was measured on other devices says nothing here.
    yield or_(table.c.devices.is_(None), table.c.devices == bindparam("devices"))
    needed = table.c.needs.in_(bindparam("needs", expanding=True))
    yield or_(table.c.needs.is_(None), needed)
    if not has_any:
        yield table.c.workload.in_(bindparam("workloads", expanding=True))


def _needs_met(connection: Connection, post: Post) -> list[str]:
    """Return those of the needs of unfinished jobs that a worker meets."""
    waits = jobs.c.state.in_((State.QUEUED, *HELD))
    # By the index, which "is not null" would not use everywhere.
    query = select(jobs.c.needs).where(waits, jobs.c.needs > "").distinct()
    found = connection.execute(query).scalars().all()
    return [each for each in found if met(each, post.machine, post.labels)]


def _kinds(connection: Connection) -> tuple[list[Unserved], list[Unserved]]:
    """Return what workers serve that was said to wait for one, and what none serves."""
    told = func.count(jobs.c.reason)
    query = select(*_KIND, func.count(), told).where(_WAITS).group_by(*_KIND)
    workers = there(connection)
    served, others = [], []
    for row in connection.execute(query).all():
        each = Unserved(*row[:-1])
        if not any(_serves(worker, each) for worker in workers):
            others.append(each)
        elif row[-1]:
            served.append(each)
    return served, others


def _serves(worker: SeenWorker, job: Unserved | Row[Any]) -> bool:
    """Return whether a worker takes jobs of a kind, now or once it is free."""
    return (
        not worker.draining
        and job.devices in (None, worker.devices)
        and job.workload in worker.workloads
        and met(job.needs, worker.machine, worker.labels)
    )


def _alike(what: Unserved) -> tuple[ColumnElement[bool], ...]:
    return tuple(
        column.is_not_distinct_from(value) for column, value in zip(_KIND, what, strict=False)
    )


def _tell(connection: Connection, what: Unserved) -> None:
    query = select(jobs.c.id, jobs.c.state, jobs.c.attempt).where(_WAITS, *_alike(what))
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


def _in_turn(connection: Connection, rows: Iterable[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield jobs in the order in which they are claimed if each has ended before the next."""
    queues: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda each: (each.precedence, each.seq), reverse=True):
        queues[row.owner].append(row)
    held = select(jobs.c.owner, func.count()).where(jobs.c.state.in_(HELD), live(jobs.c.expires_at))
    running = Counter(dict(map(tuple, connection.execute(held.group_by(jobs.c.owner)).all())))
    latest = {owner: _latest(connection, owner) for owner in queues}
    turns = count(max(latest.values(), default=0.0) + 1)

    def turn(owner: str) -> tuple[float, ...]:
        first = queues[owner][-1]
        return first.precedence, running[owner], latest[owner], first.seq

    while queues:
        owner = min(queues, key=turn)
        yield queues[owner].pop()
        latest[owner] = next(turns)
        if not queues[owner]:
            del queues[owner]


def _latest(connection: Connection, owner: str) -> float:
    """Return when an owner's last job started."""
    query = select(func.max(jobs.c.started_at)).where(jobs.c.owner == owner)
    return connection.execute(query).scalar() or 0.0


def _free_at(connection: Connection, devices: set[str]) -> list[float]:
    """Return when each of some devices is free, if its job takes its whole budget."""
    now = connection.execute(select(Now())).scalar_one()
    left = jobs.c.budget_seconds - func.coalesce(spent(jobs.c.id, by_now=True), 0.0)
    query = select(left).join(leases, leases.c.job_id == jobs.c.id)
    busy = query.where(live(leases.c.expires_at), leases.c.devices.in_(devices))
    held = [now + max(each, 0.0) for each in connection.execute(busy).scalars().all()]
    return held + [now] * (len(devices) - len(held))


def _start(free: list[float], before: Iterable[Row[Any]]) -> float:
    """Return when devices are free once some jobs have taken their whole budgets on them."""
    for row in before:
        first = min(free)
        free[free.index(first)] = first + row.budget_seconds
    return min(free)
