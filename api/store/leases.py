"""Who may measure: one attempt at a time on the same devices, while it renews its lease."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    and_,
    case,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from autotune.api.events import Claimed
from autotune.api.states import HELD, State, transition
from autotune.api.store.advance import Cell, Step, advance, superseded
from autotune.api.store.clock import Now, ahead, lapsed, live
from autotune.api.store.database import Database
from autotune.api.store.reading import read_job, read_trials, spent
from autotune.api.tables import attempts, jobs, leases
from autotune.api.values import Claim, Grip, Post
from autotune.config import Configuration

LOST = "lost"
"""How an attempt ended whose worker was not heard of any more."""
DIED = "died"
"""How an attempt ended whose process died."""


class _Nothing(Exception):
    """There is nothing to claim; the transaction is undone."""


def claim(database: Database, post: Post, lease_seconds: float) -> Claim | None:
    """Take the devices, and the next job for them: one that was left behind, or the oldest.

    Returns:
        The job; None if the devices are taken or nobody waits for them.
    """
    with database.reading() as connection:
        put_back = connection.execute(_ahead(lease_seconds)).first() is not None
        if not put_back and connection.execute(_next(post)).first() is None:
            return None
    if put_back:
        _shorten(database, lease_seconds)
    with suppress(_Nothing), database.writing() as connection:
        return _claim(connection, post, lease_seconds)
    return None


def renew(database: Database, grip: Grip, lease_seconds: float) -> State:
    """Lengthen the lease; return the state of the job, which may have been cancelled.

    Raises:
        Superseded: The lease is over.
    """
    with database.writing() as connection:
        until = _until(connection, lease_seconds)
        devices = update(leases).where(_held_by(grip), live(leases.c.expires_at))
        job = update(jobs).where(is_current(grip)).returning(jobs.c.state)
        taken = connection.execute(devices.values(expires_at=until)).rowcount
        state = connection.execute(job.values(expires_at=until)).scalar()
        if not taken or state is None:
            raise superseded()
        connection.execute(update(attempts).where(is_attempt(grip)).values(seen_at=Now()))
    return State(state)


def standing(database: Database, grip: Grip) -> State:
    """Return the state of the job of an attempt, without lengthening the lease.

    Raises:
        Superseded: The lease is over.
    """
    with database.reading() as connection:
        state = connection.execute(select(jobs.c.state).where(is_current(grip))).scalar()
    if state is None:
        raise superseded()
    return State(state)


def free(connection: Connection, grip: Grip) -> None:
    """Give the devices back within a transaction that ends the attempt."""
    values = {"job_id": None, "attempt": None, "worker": None, "expires_at": None}
    connection.execute(update(leases).where(_held_by(grip)).values(values))


def is_attempt(grip: Grip) -> ColumnElement[bool]:
    """Whether a row of attempts is that of a grip."""
    return and_(attempts.c.job_id == grip.job_id, attempts.c.number == grip.attempt)


def is_current(grip: Grip) -> ColumnElement[bool]:
    """Whether a row of jobs is held by a grip whose lease lasts."""
    return and_(jobs.c.id == grip.job_id, jobs.c.attempt == grip.attempt, live(jobs.c.expires_at))


def _until(connection: Connection, lease_seconds: float) -> float:
    """Return when a lease ends that is given now: the same for the devices and for the job."""
    return connection.execute(select(Now())).scalar_one() + lease_seconds


def _ahead(lease_seconds: float) -> CompoundSelect[Any]:
    """Leases that were given before the clock was put back."""
    devices = select(leases.c.devices).where(ahead(leases.c.expires_at, lease_seconds))
    held = and_(jobs.c.state.in_(HELD), ahead(jobs.c.expires_at, lease_seconds))
    return devices.union_all(select(jobs.c.id).where(held)).limit(1)


def _shorten(database: Database, lease_seconds: float) -> None:
    """Let leases from before the clock was put back end as if they were given now.

    Whoever lives renews its own in time; what the dead have left is taken once it is over.
    """
    with database.writing() as connection:
        until = _until(connection, lease_seconds)
        for table in (leases, jobs):
            early = ahead(table.c.expires_at, lease_seconds)
            connection.execute(update(table).where(early).values(expires_at=until))


def _held_by(grip: Grip) -> ColumnElement[bool]:
    return and_(
        leases.c.devices == grip.devices,
        leases.c.job_id == grip.job_id,
        leases.c.attempt == grip.attempt,
    )


def _claim(connection: Connection, post: Post, lease_seconds: float) -> Claim:
    until = _until(connection, lease_seconds)
    _take_devices(connection, post, until)
    query = _next(post).with_for_update(skip_locked=True)
    row = connection.execute(query).first()
    if row is None:
        raise _Nothing
    grip = Grip(job_id=row.id, attempt=row.attempt + 1, devices=post.devices, worker=post.worker)
    _take_job(connection, row, grip, until)
    marker = _begin_attempt(connection, grip, post)
    return _claimed(connection, grip, marker)


def _take_devices(connection: Connection, post: Post, until: float) -> None:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = dialect.insert(leases).values(devices=post.devices)
    connection.execute(row.on_conflict_do_nothing())
    mine = and_(leases.c.devices == post.devices, lapsed(leases.c.expires_at))
    taken = {"worker": post.worker, "expires_at": until}
    if not connection.execute(update(leases).where(mine).values(taken)).rowcount:
        raise _Nothing


def _next(post: Post) -> Select[Any]:
    """Jobs that were left behind come first, then those that wait, oldest first."""
    left = and_(jobs.c.state.in_(HELD), lapsed(jobs.c.expires_at))
    # What was measured on other devices says nothing here; ending it can be done by anybody.
    fits = or_(
        jobs.c.devices.is_(None),
        jobs.c.devices == post.devices,
        jobs.c.state == State.CANCELLING,
    )
    waiting = case((jobs.c.state == State.QUEUED, 1), else_=0)
    return (
        select(jobs.c.id, jobs.c.state, jobs.c.attempt, jobs.c.trials)
        .where(or_(jobs.c.state == State.QUEUED, left), fits)
        .order_by(waiting, jobs.c.seq)
        .limit(1)
    )


def _take_job(connection: Connection, row: Row[Any], grip: Grip, until: float) -> None:
    before = State(row.state)
    after = State.CANCELLING if before is State.CANCELLING else State.RUNNING
    columns: dict[str, Cell] = {
        "attempt": grip.attempt,
        "devices": grip.devices,
        "expires_at": until,
        "started_at": func.coalesce(jobs.c.started_at, Now()),
    }
    began = Claimed(attempt=grip.attempt, kept=row.trials)
    step = Step(to=transition(before, after), events=[began], columns=columns)
    advance(connection, grip.job_id, step)
    held = {"job_id": grip.job_id, "attempt": grip.attempt}
    connection.execute(update(leases).where(leases.c.devices == grip.devices).values(held))


def _begin_attempt(connection: Connection, grip: Grip, post: Post) -> str:
    earlier = and_(attempts.c.job_id == grip.job_id, attempts.c.ended_at.is_(None))
    lost = {"ended_at": attempts.c.seen_at, "ending": LOST}
    connection.execute(update(attempts).where(earlier).values(lost))
    marker = secrets.token_hex(16)
    connection.execute(
        insert(attempts).values(
            job_id=grip.job_id,
            number=grip.attempt,
            worker=post.worker,
            host=post.host,
            marker=marker,
            claimed_at=Now(),
            seen_at=Now(),
            swept=False,
            messages=0,
        )
    )
    return marker


def _claimed(connection: Connection, grip: Grip, marker: str) -> Claim:
    job_id = grip.job_id
    died = and_(attempts.c.job_id == job_id, attempts.c.ending.in_((LOST, DIED)))
    running = connection.execute(select(attempts.c.configuration).where(died)).scalars().all()
    study = select(jobs.c.study).where(jobs.c.id == job_id)
    return Claim(
        grip=grip,
        marker=marker,
        job=read_job(connection, job_id),
        kept=tuple(each.trial for each in read_trials(connection, job_id)),
        study=connection.execute(study).scalar_one(),
        used_seconds=connection.execute(select(spent(job_id))).scalar_one(),
        deaths=len(running),
        killers=tuple(Configuration.model_validate_json(each) for each in running if each),
    )
