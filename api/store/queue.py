"""The queue: which job is next for a worker, what waits, and for what.

Jobs that a worker left behind come first, of these the ones that are only to be ended. Of those
that wait, priority goes first, then the project with the fewest running jobs, then the one whose
last job started the longest ago, then age. So a project that asks for many keeps nobody waiting for
more than one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union_all,
    update,
)

from autotune.api.errors import UnreadableRecord
from autotune.api.events import Released
from autotune.api.needs import Needs, met
from autotune.api.records import OTHER_VERSION, read
from autotune.api.states import HELD, State
from autotune.api.store.advance import Cell, Step, advance
from autotune.api.store.database import Database, Now, lapsed, live, lock
from autotune.api.store.reading import COLUMNS, spent
from autotune.api.store.tables import attempts, jobs, leases
from autotune.api.store.workers import there
from autotune.api.values import Post, SeenWorker, Waiting, WaitsFor
from autotune.events import Notice

AT_ONCE = 50
"""Jobs that one transaction tells of."""
MOST_WAITING = 500
"""Of more jobs that wait nobody is told which is when."""
# In the words of the index that holds no others.
IS_HELD = jobs.c.state.in_([literal_column(f"'{each}'") for each in sorted(HELD)])
_OVER = and_(IS_HELD, lapsed(jobs.c.expires_at))
_LEFT = and_(jobs.c.state == State.RUNNING, _OVER)
_KIND = tuple(jobs.c[name] for name in ("workload", "devices", "needs", "kind"))
"""What a worker must have for a job."""
_PLACE = (
    *_KIND,
    *(jobs.c[name] for name in ("id", "seq", "project", "precedence", "budget_seconds")),
)
"""What decides when its turn is."""
PLACED = tuple(dict.fromkeys((*COLUMNS, *_PLACE)))
"""What is read of a job to tell what it waits for, too; that of every job first."""
_PLACES = select(*_PLACE)


def _is_queued(table: FromClause) -> ColumnElement[bool]:
    """Return that a job is queued, in the words of the indexes that hold no others."""
    return table.c.state == literal_column(f"'{State.QUEUED}'")


_QUEUED = _is_queued(jobs)
# What is asked often is made once: that takes longer than asking it.
_ONE_TOO_MANY = select(jobs.c.kind).where(_QUEUED).limit(1).offset(bindparam("most"))


class Unserved(NamedTuple):
    """Jobs that wait for a worker that is not there."""

    workload: str
    devices: str | None
    """On which they were measured; None where any would do."""
    needs: str | None
    """What else its worker must have."""
    jobs: int
    kind: str = ""
    """Equal for them alone."""

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


class Kinds(NamedTuple):
    """The kinds of jobs that are there for a worker."""

    left: Sequence[str] | None
    """Of those that another one left behind; None if there are none of any kind."""
    queued: Sequence[str]


def kinds_for(connection: Connection, post: Post) -> Kinds | None:
    """Return the kinds of jobs that are there for a worker, or None, without finding the next."""
    left, queued = (connection.execute(each).all() for each in (_LEFT_KINDS, _kinds()))
    found = Kinds(
        left=[row.kind for row in left if _fits(post, row)] if left else None,
        queued=[row.kind for row in queued if _fits(post, row)],
    )
    return None if found.left is None and not found.queued else found


def next_job(connection: Connection, kinds: Kinds) -> Row[Any] | None:
    """Return the next job of some kinds, which nobody else finds until the transaction ends.

    Whoever takes it has to see that it is still as it was found: others may change it meanwhile.
    """
    # One after the other: of two at once both would find the same one.
    lock(connection, "queue")
    row = None
    # What was left behind goes first, and is seldom there.
    if kinds.left is not None:
        row = connection.execute(_LEFT_BEHIND, {"kinds": kinds.left}).first()
    if row is None and kinds.queued:
        row = connection.execute(_first_queued(), {"kinds": kinds.queued}).first()
    return row


def unserved(connection: Connection) -> tuple[Unserved, ...]:
    """Return what waits for a worker that is not there."""
    return tuple(_waiting_kinds(connection)[1])


def tell_unserved(database: Database) -> None:
    """Tell, once, what jobs wait for that no worker serves; take it back where one has come."""
    with database.reading() as connection:
        served, others = _waiting_kinds(connection)
        untold = [each for each in others if _are_untold(connection, each)]
        told = [each for each in served if _are_told(connection, each)]
    for each in untold:
        with database.writing() as connection:
            _tell(connection, each)
    for each in told:
        with database.writing() as connection:
            those = and_(_QUEUED, jobs.c.reason.is_not(None), jobs.c.kind == each.kind)
            connection.execute(update(jobs).where(those).values(reason=None))


def waiting(connection: Connection, job: Row[Any]) -> Waiting | None:
    """Return what a job waits for, of which `PLACED` was read; None if it does not wait."""
    if job.state == State.RUNNING and not _has_begun(connection, job):
        return Waiting(kind=WaitsFor.MACHINE)
    if job.state != State.QUEUED:
        return None
    servers = [each for each in there(connection) if _serves(each, job)]
    if not servers:
        return Waiting(kind=WaitsFor.WORKER)
    if connection.execute(_ONE_TOO_MANY, {"most": MOST_WAITING}).first():
        return Waiting(kind=WaitsFor.TURN)
    rows = [*connection.execute(union_all(_PLACES.where(_QUEUED), _PLACES.where(_LEFT))).all()]
    rivals = [row for row in rows if any(_serves(each, row) for each in servers)]
    before = []
    for row in _in_turn(connection, rivals):
        if row.id == job.id:
            break
        before.append(row)
    start = _start(_free_at(connection, {each.devices for each in servers}), before)
    return Waiting(kind=WaitsFor.TURN, before=len(before), expected_start=start)


def _has_begun(connection: Connection, job: Row[Any]) -> bool:
    mine = (attempts.c.job_id == job.id, attempts.c.number == job.attempt)
    return connection.execute(select(attempts.c.began_at).where(*mine)).scalar() is not None


_SHORT = tuple(jobs.c[name] for name in ("id", "state", "attempt", "trials", "workload"))
_LEFT_KINDS = select(*_KIND).where(_OVER)
_IS_WANTED = jobs.c.kind.in_(bindparam("kinds", expanding=True))
# Ending a job can be done by anybody.
_LEFT_BEHIND = (
    select(*_SHORT)
    .where(_OVER, or_(jobs.c.state == State.CANCELLING, _IS_WANTED))
    .order_by(jobs.c.state, jobs.c.seq)
    .limit(1)
)


@cache  # Making it takes longer than running it.
def _kinds() -> Select[Any]:
    """Return the query for the kinds of queued jobs.

    They are found one after the other by an index, however many jobs there are of each.
    """
    kinds, one = _queued_kinds(), jobs.alias()
    of_kind = and_(_is_queued(one), one.c.kind == kinds.c.kind)
    # In the order of the index: PostgreSQL would rather walk the table for any one.
    first = select(one.c.seq).where(of_kind).order_by(one.c.kind, one.c.project).limit(1)
    examples = jobs.join(kinds, jobs.c.seq == first.scalar_subquery())
    return select(*_KIND).select_from(examples).where(kinds.c.kind.is_not(None))


def _queued_kinds() -> CTE:
    later = jobs.alias()
    kinds = select(func.min(jobs.c.kind).label("kind")).where(_QUEUED).cte(recursive=True)
    behind = and_(_is_queued(later), later.c.kind > kinds.c.kind)
    following = select(func.min(later.c.kind)).where(behind).scalar_subquery()
    return kinds.union_all(select(following).where(kinds.c.kind.is_not(None)))


@cache
def _first_queued() -> Select[Any]:
    """Return the query for the next job that waits, of some kinds that are given with it.

    Of each project the first of each kind, of these the first; the owners are found as the kinds.
    """
    kinds, first, last, later = _queued_kinds(), *(jobs.alias() for _ in range(3))
    of_kind = and_(_is_queued(first), first.c.kind == kinds.c.kind)
    wanted = kinds.c.kind.in_(bindparam("kinds", expanding=True))
    head = _first_of(first, of_kind).label("seq")
    heads = select(kinds.c.kind, head).where(wanted).cte(recursive=True)
    behind = and_(_is_queued(later), later.c.kind == heads.c.kind, later.c.project > last.c.project)
    more = select(heads.c.kind, _first_of(later, behind))
    heads = heads.union_all(more.join(last, last.c.seq == heads.c.seq))
    # Not the column itself, in whose order SQLite would go through all jobs.
    project = func.coalesce(jobs.c.project, "").label("project")
    busy = select(project, func.count().label("running")).where(IS_HELD).group_by(project)
    owners, others = busy.cte(), jobs.alias()
    latest = select(func.max(others.c.started_at)).where(others.c.project == jobs.c.project)
    used = owners.c.running, latest.scalar_subquery()
    turn = (jobs.c.precedence, *(func.coalesce(each, 0) for each in used), jobs.c.seq)
    first_ones = jobs.join(heads, heads.c.seq == jobs.c.seq)
    joined = first_ones.outerjoin(owners, owners.c.project == jobs.c.project)
    return select(*_SHORT).select_from(joined).order_by(*turn).limit(1)


def _first_of(table: FromClause, which: ColumnElement[bool]) -> ScalarSelect[Any]:
    """Return the first job of the first project among jobs of a kind, in the order of the index."""
    order = (table.c.kind, table.c.project, table.c.precedence, table.c.seq)
    return select(table.c.seq).where(which).order_by(*order).limit(1).scalar_subquery()


def _fits(post: Post, job: Row[Any]) -> bool:
    """Return whether a job of a kind is one for a worker."""
    return (
        # What was measured on other devices says nothing here.
        job.devices in (None, post.devices)
        and (post.workloads is None or job.workload in post.workloads)
        and met(job.needs, post.machine, post.labels)
    )


def _waiting_kinds(connection: Connection) -> tuple[list[Unserved], list[Unserved]]:
    """Return the kinds of jobs that wait: those that workers serve, and those that none serves."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in connection.execute(_kinds()).all():
        many = select(func.count()).where(_QUEUED, jobs.c.kind == row.kind)
        found[tuple(row)] += connection.execute(many).scalar_one()
    found.update(map(tuple, connection.execute(select(*_KIND).where(_LEFT)).all()))
    workers = there(connection)
    served: list[Unserved] = []
    others: list[Unserved] = []
    for (workload, devices, needs, kind), number in found.items():
        each = Unserved(workload, devices, needs, number, kind)
        served_by_some = any(_serves(worker, each) for worker in workers)
        (served if served_by_some else others).append(each)
    return served, others


def _are_untold(connection: Connection, what: Unserved) -> bool:
    """Return whether jobs of a kind do not say what they wait for."""
    untold = jobs.c.reason.is_(None)
    return any(_is_there(connection, what, untold, each) for each in (_QUEUED, _LEFT))


def _are_told(connection: Connection, what: Unserved) -> bool:
    """Return whether queued jobs of a kind say that they wait for a worker."""
    return _is_there(connection, what, jobs.c.reason.is_not(None), _QUEUED)


def _is_there(connection: Connection, what: Unserved, *which: ColumnElement[bool]) -> bool:
    query = select(jobs.c.seq).where(jobs.c.kind == what.kind, *which).limit(1)
    return connection.execute(query).first() is not None


def _serves(worker: SeenWorker, job: Unserved | Row[Any]) -> bool:
    """Return whether a worker takes jobs of a kind, now or once it is free."""
    return (
        not worker.draining
        and job.devices in (None, worker.devices)
        and job.workload in worker.workloads
        and met(job.needs, worker.machine, worker.labels)
    )


def _tell(connection: Connection, what: Unserved) -> None:
    query = select(jobs.c.id, jobs.c.state, jobs.c.attempt).where(
        jobs.c.kind == what.kind, jobs.c.reason.is_(None)
    )
    parts = (query.where(which).limit(AT_ONCE) for which in (_QUEUED, _LEFT))
    untold = (connection.execute(each.with_for_update(skip_locked=True)).all() for each in parts)
    for row in chain.from_iterable(untold):
        columns: dict[str, Cell] = {"reason": str(what)}
        if row.state == State.QUEUED:
            step = Step(events=[Notice(text=str(what))], columns=columns)
        else:
            # Whoever had it is gone; it must not seem to run.
            told = Released(attempt=row.attempt, reason=str(what))
            step = Step(to=State.QUEUED, events=[told], columns={**columns, "expires_at": None})
        advance(connection, row.id, State(row.state), step)


def _in_turn(connection: Connection, rows: Iterable[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield jobs in the order in which they are claimed if each has ended before the next."""
    queues: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda each: (each.precedence, each.seq), reverse=True):
        queues[row.project].append(row)
    held = select(jobs.c.project, func.count()).where(IS_HELD, live(jobs.c.expires_at))
    running = Counter(dict(map(tuple, connection.execute(held.group_by(jobs.c.project)).all())))
    latest = {project: _latest(connection, project) for project in queues}
    turns = count(max(latest.values(), default=0.0) + 1)

    def turn(project: str) -> tuple[float, ...]:
        first = queues[project][-1]
        return first.precedence, running[project], latest[project], first.seq

    while queues:
        project = min(queues, key=turn)
        yield queues[project].pop()
        latest[project] = next(turns)
        if not queues[project]:
            del queues[project]


def _latest(connection: Connection, project: str) -> float:
    """Return when a project's last job started."""
    query = select(func.max(jobs.c.started_at)).where(jobs.c.project == project)
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
