"""The attempts at a job: who may measure, and what an attempt writes.

One attempt at a time measures on the same devices, while it renews the lease of its job; whatever
it writes is refused once the lease is over.
"""

from __future__ import annotations

import secrets
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

from autotune.api.store.advance import Cell, Step, advance, advance_held, superseded
from autotune.api.store.database import Database, Now, lapsed, live, lock
from autotune.api.store.queue import has_job, next_job
from autotune.api.store.reading import COLUMNS, job_of, read_trials, request_of, row_of, total_of
from autotune.api.store.tables import IS_HELD, attempts, jobs, trials, workers
from autotune.api.values import (
    AttemptReport,
    ClaimedJob,
    JobOutcome,
    LeaseToken,
    OrphanedProcesses,
    ProcessIdentity,
    WorkerInfo,
    read,
)
from autotune.config import Configuration
from autotune.trial import Trial
from autotune.wire.errors import UnreadableRecord
from autotune.wire.events import Claimed, Released
from autotune.wire.jobs import State

FINISHED = "finished"
"""How an attempt ended that ended its job."""
RELEASED = "released"
"""How an attempt ended whose worker was asked to stop, or found the devices taken."""
STUCK = "stuck"
"""How an attempt ended whose host could not keep its files."""
LOST = "lost"
"""How an attempt ended whose worker was not heard of any more."""
DIED = "died"
"""How an attempt ended whose process died."""


def claim(database: Database, info: WorkerInfo, lease_seconds: float) -> ClaimedJob | None:
    """Take the devices, and the next job for them.

    There is none if the devices are taken, nobody waits for them, or the worker is drained.
    """
    early = and_(IS_HELD, jobs.c.expires_at > Now() + 2 * lease_seconds)
    with database.reading() as connection:
        clock_was_put_back = connection.execute(select(jobs.c.id).where(early)).first()
        if not clock_was_put_back and (
            _is_unfit(connection, info) or not has_job(connection, info)
        ):
            return None  # Who looks in vain keeps nobody from writing.
    with database.writing() as connection:
        if not clock_was_put_back:
            return _claim(connection, info, lease_seconds)
        # Leases from before that end as if they were given now. Whoever lives renews its own in
        # time; what the dead have left is taken once it is over.
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


def note_process(database: Database, token: LeaseToken, identity: ProcessIdentity) -> None:
    """Write down the process of an attempt, before it may do anything."""
    values = {"pid": identity.pid, "pid_started": identity.started}
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
            # What was not measured anywhere may be measured on any devices.
            columns["devices"] = case((jobs.c.trials > 0, jobs.c.devices), else_=None)
        released = Released(attempt=token.attempt, reason=reason)
        advance_held(connection, token, Step(to=to, events=[released], columns=columns))
    return to


def orphans(database: Database, host: str) -> tuple[OrphanedProcesses, ...]:
    """Return the attempts on a host that are over and of which something may be left."""
    over = or_(jobs.c.attempt != attempts.c.number, lapsed(jobs.c.expires_at))
    query = select(attempts).join(jobs, jobs.c.id == attempts.c.job_id)
    query = query.where(attempts.c.host == host, attempts.c.swept.is_(False), over)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return tuple(
        OrphanedProcesses(
            job_id=row.job_id,
            attempt=row.number,
            marker=row.marker,
            identity=row.pid and ProcessIdentity(pid=row.pid, started=row.pid_started),
        )
        for row in rows
    )


def swept(database: Database, what: OrphanedProcesses) -> None:
    mine = (attempts.c.job_id == what.job_id, attempts.c.number == what.attempt)
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
    mine = (attempts.c.job_id == token.job_id, attempts.c.began_at.is_not(None))
    return exists().where(*mine, *among)


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
    row = None if _is_unfit(connection, info) else next_job(connection, info)
    if row is None:
        return None
    token = LeaseToken(
        job_id=row.id, attempt=row.attempt + 1, devices=info.devices, worker=info.worker
    )
    found = row.digest and row.digest[:12]
    taken = _taken(row, token, lease_seconds, found or (info.workloads or {}).get(row.workload))
    # Whoever changes it at this moment may end between finding and taking it.
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
