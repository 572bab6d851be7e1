"""New jobs, and cancelling them."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Connection, Select, case, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from autotune.api.errors import IdempotencyMismatch, QuotaExceeded
from autotune.api.events import Cancelling, Ended, Event, Queued
from autotune.api.states import FINAL, UNFINISHED, State
from autotune.api.store.advance import Step, add_events, advance, state_for_change
from autotune.api.store.clock import Now
from autotune.api.store.database import Database
from autotune.api.store.reading import read_job, spent
from autotune.api.tables import idempotency, jobs
from autotune.api.values import Job, Limits, Repeatable, Tuning
from autotune.report.words import counted


def submit(
    database: Database,
    tuning: Tuning,
    owner: str,
    limits: Limits,
    repeatable: Repeatable | None = None,
) -> Job:
    """Add a job, or return the one that the same request made before.

    When this returns, the job survives a crash of anything.

    Raises:
        QuotaExceeded: The owner has as much as it may.
        IdempotencyMismatch: The idempotency key came with another request before.
    """
    job_id = secrets.token_hex(12)
    with database.writing() as connection:
        earlier = _claim_key(connection, owner, repeatable, job_id)
        if earlier is not None:
            return read_job(connection, earlier, owner)
        _check(connection, owner, limits, tuning.seconds)
        _insert(connection, job_id, owner, tuning)
        add_events(connection, job_id, 0, [Queued()])
        return read_job(connection, job_id, owner)


def cancel(database: Database, job_id: str, owner: str | None) -> Job:
    """Have a job end; one that waits ends at once, one that runs within seconds.

    A job that was cancelled before stays as it is.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
        IllegalTransition: It has ended otherwise.
    """
    with database.writing() as connection:
        read_job(connection, job_id, owner)
        state = state_for_change(connection, job_id)
        if state not in (State.CANCELLING, State.CANCELLED):
            advance(connection, job_id, _cancelling(state))
        return read_job(connection, job_id, owner)


def forget_keys(database: Database, older_seconds: float) -> None:
    """Forget idempotency keys of a certain age."""
    with database.writing() as connection:
        old = idempotency.c.created_at < Now() - older_seconds
        connection.execute(delete(idempotency).where(old))


def _cancelling(state: State) -> Step:
    if state is not State.QUEUED:
        return Step(to=State.CANCELLING, events=[Cancelling()])
    events: list[Event] = [Cancelling(), Ended(state=State.CANCELLED)]
    return Step(to=State.CANCELLED, events=events, columns={"ended_at": Now()})


def _claim_key(
    connection: Connection, owner: str, repeatable: Repeatable | None, job_id: str
) -> str | None:
    """Take an idempotency key for a job; return the job that has it already, if there is one."""
    if repeatable is None:
        return None
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = {"owner": owner, **repeatable.model_dump(), "job_id": job_id, "created_at": Now()}
    # Waits for a transaction that adds the same key in this moment.
    added = dialect.insert(idempotency).values(row).on_conflict_do_nothing()
    if connection.execute(added.returning(idempotency.c.job_id)).first():
        return None
    mine = (idempotency.c.owner == owner, idempotency.c.key == repeatable.key)
    query = select(idempotency.c.job_id, idempotency.c.fingerprint).where(*mine)
    earlier = connection.execute(query).one()
    if earlier.fingerprint != repeatable.fingerprint:
        raise IdempotencyMismatch(
            "This idempotency key was already used with another request.",
            "Use a new key for a new request.",
        )
    found: str = earlier.job_id
    return found


def _check(connection: Connection, owner: str, limits: Limits, wanted: float) -> None:
    queued = select(func.count()).where(jobs.c.owner == owner, jobs.c.state == State.QUEUED)
    if connection.execute(queued).scalar_one() >= limits.queued:
        raise QuotaExceeded(
            f"This API key may have at most {counted(limits.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    if connection.execute(_device_seconds(owner, limits)).scalar_one() + wanted > (
        limits.device_seconds
    ):
        raise QuotaExceeded(
            f"This API key may use the devices for {limits.device_seconds:.0f} s within "
            f"{limits.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )


def _device_seconds(owner: str, limits: Limits) -> Select[Any]:
    """Of the jobs that ended what they used, of the others what they may use."""
    used = case((jobs.c.state.in_(FINAL), spent(jobs.c.id)), else_=jobs.c.budget_seconds)
    recent = jobs.c.ended_at > Now() - limits.window_seconds
    counted = jobs.c.state.in_(UNFINISHED) | recent
    total = func.coalesce(func.sum(used), 0.0)
    return select(total).where(jobs.c.owner == owner, counted)


def _insert(connection: Connection, job_id: str, owner: str, tuning: Tuning) -> None:
    connection.execute(
        insert(jobs).values(
            id=job_id,
            owner=owner,
            workload=tuning.workload,
            request=tuning.model_dump_json(),
            budget_seconds=tuning.seconds,
            state=State.QUEUED,
            attempt=0,
            events=1,
            trials=0,
            created_at=Now(),
        )
    )
