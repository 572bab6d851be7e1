"""The life of a job: the one write to it, the queue, and the attempts at it.

Jobs that a worker left behind come first, of these the ones that are only to be ended. Of those
that wait, priority goes first, then the project with the fewest running jobs, then the one whose
last job started the longest ago, then age. So no project waits for more than one job of a project
that asks for many.

One attempt at a time measures on the same devices, while it renews the lease of its job; whatever
it writes is refused once the lease is over.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, groupby
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from autotune.api.store.database import Database, Now, lapsed, live, lock
from autotune.api.store.reading import (
    COLUMNS,
    brief,
    job_of,
    read_trials,
    request_of,
    row_of,
    total_of,
)
from autotune.api.store.tables import IS_HELD, attempts, events as rows, jobs, trials, workers
from autotune.api.store.workers import there
from autotune.api.values import (
    AttemptReport,
    ClaimedJob,
    JobOutcome,
    LeaseToken,
    WorkerInfo,
    read,
)
from autotune.config import Configuration
from autotune.events import Notice, TrialEnded
from autotune.trial import Trial
from autotune.wire.errors import IllegalTransition, Superseded, UnreadableRecord
from autotune.wire.events import Claimed, Ended, Event, Released
from autotune.wire.jobs import FINAL, NEXT, Needs, SeenWorker, State, Waiting, WaitsFor

CANCELLED = "The job was cancelled. Ask for it again to have it run to its end."
"""The reason of every job that was."""
Cell = str | float | int | None | ColumnElement[float] | ColumnElement[str | None]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A change of a job, written at once; the event and the time of an end are added to it."""

    to: State | None = None
    """The state that follows; None for the same."""
    events: Sequence[Event] = ()
    columns: dict[str, Cell] = field(default_factory=dict)


def advance(
    connection: Connection, job_id: str, before: State, step: Step, attempt: int | None = None
) -> bool:
    """Change a job unless it has changed since it was read; return whether it had not.

    `before` is its state, `attempt` the number of its attempts, as the transaction has read them.
    """
    if step.to is not None and step.to not in NEXT[before]:
        raise IllegalTransition(
            f"A job that is {before} cannot become {step.to}.",
            "Fetch the job again; its state may have changed.",
        )
    condition = jobs.c.state == before
    if attempt is not None:
        condition &= jobs.c.attempt == attempt
    return _write(connection, job_id, step, condition)


def advance_held(connection: Connection, token: LeaseToken, step: Step) -> None:
    """Change a job in the name of an attempt; `Superseded` if that is not the current one."""
    fence = (jobs.c.attempt == token.attempt) & live(jobs.c.expires_at)
    if step.to is not None:
        fence &= jobs.c.state.in_([before for before in State if step.to in NEXT[before]])
    if not _write(connection, token.job_id, step, fence):
        raise superseded()


def superseded() -> Superseded:
    return Superseded("The attempt lost its lease.", "Leave the job to its next attempt.")


def _write(connection: Connection, job_id: str, step: Step, condition: ColumnElement[bool]) -> bool:
    changes, happened = {**step.columns}, [*step.events]
    if step.to is not None:
        changes["state"] = step.to
    if step.to is State.CANCELLED:
        changes["reason"] = CANCELLED
    if step.to in FINAL:
        changes |= {"ended_at": Now(), "expires_at": None}
        happened.append(Ended.model_validate(changes, extra="ignore"))
    statement = (
        update(jobs)
        .where(jobs.c.id == job_id, condition)
        .values(events=jobs.c.events + len(happened), **changes)
        .returning(jobs.c.events)
    )
    last = connection.execute(statement).scalar()
    if last is not None:
        add_events(connection, job_id, last - len(happened), happened)
    return last is not None


def add_events(connection: Connection, job_id: str, after: int, events: Sequence[Event]) -> None:
    """Add events to a job whose row the transaction holds.

    That of a trial names the trial, which is kept in a table of its own.
    """
    added = []
    for number, each in enumerate(events, after + 1):
        trial = each.trial.number if isinstance(each, TrialEnded) else None
        body = brief(each).model_dump_json(exclude=None if trial is None else {"trial"})
        added.append({"job_id": job_id, "number": number, "trial": trial, "body": body})
    if added:
        connection.execute(insert(rows).values(at=Now()), added)


AT_ONCE = 50
"""Jobs that one transaction changes, so that others need not wait long for its end."""
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
    # The time at which the last job of each project in the queue began.
    asks = select(jobs.c.project).where(jobs.c.state == State.QUEUED).distinct().subquery()
    began = select(func.max(jobs.c.started_at)).where(jobs.c.project == asks.c.project)
    latest = connection.execute(select(asks.c.project, began.scalar_subquery())).all()
    yield from _in_turns(rows, busy, {row[0]: row[1] or 0.0 for row in latest})


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
    has_code = worker.workloads is None or job.workload in worker.workloads
    return (
        # Measurements on other devices do not hold here.
        (not job.trials or job.devices in (None, worker.devices))
        and bool(has_code if job.digest is None else worker.takes_code)
        and _needs(job.needs).met_by(worker.machine, worker.labels)
    )


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


# The ways in which an attempt ends:
FINISHED = "finished"  # Its job ended with it.
RELEASED = "released"  # Its worker was asked to stop, or found the devices taken.
STUCK = "stuck"  # Its host could not keep its files.
LOST = "lost"  # Its worker was not heard of any more.
DIED = "died"  # Its process died.


def claim(database: Database, info: WorkerInfo, lease_seconds: float) -> ClaimedJob | None:
    """Take the devices, and the next job for them.

    There is none if the devices are taken, no job waits for them, or the worker is drained.
    """
    early = and_(IS_HELD, jobs.c.expires_at > Now() + 2 * lease_seconds)
    with database.reading() as connection:
        clock_was_put_back = connection.execute(select(jobs.c.id).where(early)).first()
        rows = (row for query in (_LEFT, _WAITS) for row in connection.execute(query))
        may_claim = not _is_unfit(connection, info) and any(_may_take(info, row) for row in rows)
    if not (clock_was_put_back or may_claim):
        return None  # A look in vain keeps no other transaction from writing.
    with database.writing() as connection:
        if not clock_was_put_back:
            return _claim(connection, info, lease_seconds)
        # Leases from before that end as if they were given now. A worker that lives renews its own
        # in time; the job of a dead one is taken once its lease is over.
        connection.execute(update(jobs).where(early).values(expires_at=Now() + lease_seconds))
    return None


def renew(database: Database, token: LeaseToken, lease_seconds: float) -> State:
    """Lengthen the lease; return the state of the job, which may have been cancelled."""
    job = update(jobs).where(_is_current(token)).values(expires_at=Now() + lease_seconds)
    with database.writing() as connection:
        lock(connection, f"devices {token.devices}")
        state = connection.execute(job.returning(jobs.c.state)).scalar()
        if state is None:
            raise superseded()
        connection.execute(update(attempts).where(_is_attempt(token)).values(seen_at=Now()))
        mine = workers.c.name == token.worker
        connection.execute(update(workers).where(mine).values(seen_at=Now()))
    return State(state)


def status(database: Database, token: LeaseToken) -> State:
    with database.reading() as connection:
        return _state(connection, token)


def note_process(database: Database, token: LeaseToken, pid: int, started: int) -> None:
    """Write down the process of an attempt, before it may do anything."""
    values = {"pid": pid, "pid_started": started}
    with database.writing() as connection:
        advance_held(connection, token, Step())
        connection.execute(update(attempts).where(_is_attempt(token)).values(values))


def record(database: Database, token: LeaseToken, report: AttemptReport) -> bool:
    """Record a message; return whether it was new."""
    with database.writing() as connection:
        _state(connection, token, hold=True)
        if not _count_message(connection, token, report):
            return False
        columns: dict[str, Cell] = {}
        if report.trial is not None:
            row = {"job_id": token.job_id, "attempt": token.attempt, "at": Now()}
            row |= {"number": report.trial.number, "record": report.trial.model_dump_json()}
            connection.execute(insert(trials).values(**row))
            columns |= _progress(report.trial)
        if report.study is not None:
            columns["study"] = report.study
        if report.began:
            # Time that it waited for the machine is none of its search.
            earlier = _begun(token, attempts.c.number != token.attempt)
            columns["started_at"] = case((earlier, jobs.c.started_at), else_=Now())
        advance_held(connection, token, Step(events=report.events, columns=columns))
    return True


def finish(database: Database, token: LeaseToken, outcome: JobOutcome) -> State:
    """End the job and give the devices back; a job that is being cancelled ends as cancelled."""
    with database.writing() as connection:
        state = _state(connection, token, hold=True)
        to = State.CANCELLED if state is State.CANCELLING else outcome.state
        _end_attempt(connection, token, FINISHED)
        columns: dict[str, Cell] = outcome.model_dump(exclude={"state"})
        if to is State.CANCELLED:
            columns["started_at"] = case((_begun(token), jobs.c.started_at), else_=None)
        advance_held(connection, token, Step(to=to, columns=columns))
    return to


def let_go(database: Database, token: LeaseToken, ending: str, reason: str) -> State:
    """End the attempt and not the job, which waits for the next one unless it is cancelled."""
    with database.writing() as connection:
        state = _state(connection, token, hold=True)
        to = State.CANCELLED if state is State.CANCELLING else State.QUEUED
        _end_attempt(connection, token, ending)
        columns: dict[str, Cell] = {"expires_at": None}
        if to is State.QUEUED:
            # A job without trials may be measured on any devices.
            columns["devices"] = case((jobs.c.trials > 0, jobs.c.devices), else_=None)
        released = Released(attempt=token.attempt, reason=reason)
        advance_held(connection, token, Step(to=to, events=[released], columns=columns))
    return to


def orphans(database: Database, host: str) -> Sequence[Row[Any]]:
    """Return the rows of attempts on a host that are over and of which something may be left."""
    over = or_(jobs.c.attempt != attempts.c.number, lapsed(jobs.c.expires_at))
    query = select(attempts).join(jobs, jobs.c.id == attempts.c.job_id)
    query = query.where(attempts.c.host == host, attempts.c.swept.is_(False), over)
    with database.reading() as connection:
        return connection.execute(query).all()


def swept(database: Database, job_id: str, attempt: int) -> None:
    mine = (attempts.c.job_id == job_id, attempts.c.number == attempt)
    with database.writing() as connection:
        connection.execute(update(attempts).where(*mine).values(swept=True))


def _is_attempt(token: LeaseToken) -> ColumnElement[bool]:
    return and_(attempts.c.job_id == token.job_id, attempts.c.number == token.attempt)


def _is_current(token: LeaseToken) -> ColumnElement[bool]:
    """Whether a row of jobs is held by a token whose lease lasts."""
    return and_(jobs.c.id == token.job_id, jobs.c.attempt == token.attempt, live(jobs.c.expires_at))


def _state(connection: Connection, token: LeaseToken, *, hold: bool = False) -> State:
    """Return the state of a job that the attempt may write; `hold` takes its row as well."""
    query = select(jobs.c.state).where(_is_current(token))
    state = connection.execute(query.with_for_update() if hold else query).scalar()
    if state is None:
        raise superseded()
    return State(state)


def _count_message(connection: Connection, token: LeaseToken, report: AttemptReport) -> bool:
    values: dict[str, Cell] = {"messages": report.number, "seen_at": Now()}
    if report.running is not None:
        values["configuration"] = report.running.model_dump_json()
    elif report.idle:
        values["configuration"] = None
    if report.began:
        values["began_at"] = func.coalesce(attempts.c.began_at, Now())
    expected = (_is_attempt(token), attempts.c.messages == report.number - 1)
    return bool(connection.execute(update(attempts).where(*expected).values(values)).rowcount)


def _progress(trial: Trial) -> dict[str, Cell]:
    columns: dict[str, Cell] = {"trials": jobs.c.trials + 1}
    reached = trial.examples_per_second
    if trial.measured and reached is not None:
        name = "distributed" if trial.configuration.distributed else "one_device"
        columns[name] = case((jobs.c[name] > reached, jobs.c[name]), else_=reached)
    return columns


def _begun(token: LeaseToken, *among: ColumnElement[bool]) -> ColumnElement[bool]:
    began = attempts.c.began_at.is_not(None)
    return exists().where(attempts.c.job_id == token.job_id, began, *among)


def _end_attempt(connection: Connection, token: LeaseToken, ending: str) -> None:
    values: dict[str, Any] = {"ended_at": Now(), "ending": ending, "swept": True}
    if ending == STUCK:
        mine = (trials.c.job_id == token.job_id, trials.c.attempt == token.attempt)
        # Time in which nothing could be measured is not taken off the job's budget.
        values["began_at"] = case((exists().where(*mine), attempts.c.began_at), else_=None)
    connection.execute(update(attempts).where(_is_attempt(token)).values(values))


def _is_unfit(connection: Connection, info: WorkerInfo) -> bool:
    drained = exists().where(workers.c.name == info.worker, workers.c.draining)
    taken = exists().where(jobs.c.devices == info.devices, IS_HELD, live(jobs.c.expires_at))
    return bool(connection.execute(select(or_(drained, taken))).scalar())


def _claim(connection: Connection, info: WorkerInfo, lease_seconds: float) -> ClaimedJob | None:
    # One after the other: of two at once both would find the same job.
    lock(connection, "queue")
    # Nor is the lease of the devices renewed meanwhile.
    lock(connection, f"devices {info.devices}")
    if _is_unfit(connection, info):
        return None
    row = next((each for each in queued(connection) if _may_take(info, each)), None)
    if row is None:
        return None
    token = LeaseToken(
        job_id=row.id, attempt=row.attempt + 1, devices=info.devices, worker=info.worker
    )
    found = row.digest and row.digest[:12]
    taken = _taken(row, token, lease_seconds, found or (info.workloads or {}).get(row.workload))
    # Another transaction may have changed the job between finding and taking it.
    if not advance(connection, row.id, State(row.state), taken, attempt=row.attempt):
        return None
    marker = _begin_attempt(connection, token, info)
    return _claimed(connection, token, marker)


def _taken(row: Row[Any], token: LeaseToken, lease_seconds: float, code: str | None) -> Step:
    after = State.CANCELLING if row.state == State.CANCELLING else State.RUNNING
    columns: dict[str, Cell] = {
        "attempt": token.attempt,
        "devices": token.devices,
        "expires_at": Now() + lease_seconds,
        "reason": None,
        "started_at": func.coalesce(jobs.c.started_at, Now()),
        # Which code is measured; what goes on after trials must go on with theirs.
        "code": case((or_(jobs.c.code.is_(None), jobs.c.trials == 0), code), else_=jobs.c.code),
    }
    return Step(to=after, events=[Claimed(attempt=token.attempt, kept=row.trials)], columns=columns)


def _begin_attempt(connection: Connection, token: LeaseToken, info: WorkerInfo) -> str:
    earlier = and_(attempts.c.job_id == token.job_id, attempts.c.ended_at.is_(None))
    lost = {"ended_at": attempts.c.seen_at, "ending": LOST}
    connection.execute(update(attempts).where(earlier).values(lost))
    marker = secrets.token_hex(16)
    row = {"job_id": token.job_id, "number": token.attempt, "worker": info.worker}
    row |= {"marker": marker, "host": info.host, "swept": False, "messages": 0}
    connection.execute(insert(attempts).values(**row, claimed_at=Now(), seen_at=Now()))
    return marker


def _claimed(connection: Connection, token: LeaseToken, marker: str) -> ClaimedJob:
    died = and_(attempts.c.job_id == token.job_id, attempts.c.ending.in_((LOST, DIED)))
    running = connection.execute(select(attempts.c.configuration).where(died)).scalars().all()
    used = select(total_of()).where(attempts.c.job_id == token.job_id)
    row = row_of(connection, token.job_id, None, *COLUMNS, jobs.c.study)
    claimed = ClaimedJob(
        token=token,
        marker=marker,
        job=job_of(row),
        study=row.study,
        used_seconds=connection.execute(used).scalar_one(),
        deaths=len(running),
    )
    try:
        request_of(row.request)
        kept = read_trials(connection, token.job_id)
        killers = tuple(read(Configuration, each) for each in running if each)
    except UnreadableRecord as exc:
        return claimed.model_copy(update={"unreadable": str(exc)})
    return claimed.model_copy(update={"kept": kept, "killers": killers})
