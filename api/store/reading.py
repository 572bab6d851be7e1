"""What is read of jobs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, select

from autotune.api.errors import no_such_job
from autotune.api.states import State
from autotune.api.store.advance import happening
from autotune.api.store.clock import Now
from autotune.api.store.database import Database
from autotune.api.tables import attempts, events, jobs, trials
from autotune.api.values import Job, JobEvent, JobTrial, Page, Story, Tuning
from autotune.recommendation import Recommendation
from autotune.trial import Trial

_COLUMNS = [jobs.c[name] for name in Job.model_fields]


def job(database: Database, job_id: str, owner: str | None) -> Job:
    """Return a job.

    Args:
        database: Where it is.
        job_id: Its id.
        owner: Whose it must be; None for anybody's.

    Raises:
        NotFound: There is none, or it is somebody else's.
    """
    with database.reading() as connection:
        return read_job(connection, job_id, owner)


def read_job(connection: Connection, job_id: str, owner: str | None = None) -> Job:
    """Return a job within a transaction.

    Raises:
        NotFound: There is none, or it is somebody else's.
    """
    row = connection.execute(_of(select(*_COLUMNS), job_id, owner)).mappings().first()
    if row is None:
        raise no_such_job()
    return _job(row)


def page(
    database: Database,
    owner: str | None,
    *,
    states: Collection[State] = (),
    before: str | None = None,
    limit: int,
) -> Page:
    """Return some jobs, newest first.

    Args:
        database: Where they are.
        owner: Whose; None for everybody's.
        states: Only those in one of these; empty for all.
        before: The id of a job; only those that came before it.
        limit: At most so many.

    Raises:
        NotFound: There is no job `before`, or it is somebody else's.
    """
    query = select(*_COLUMNS).order_by(jobs.c.seq.desc()).limit(limit + 1)
    query = query.where(*_conditions(owner, states))
    with database.reading() as connection:
        if before is not None:
            query = query.where(jobs.c.seq < _position(connection, before, owner))
        found = [_job(row) for row in connection.execute(query).mappings()]
    more = len(found) > limit
    return Page(jobs=tuple(found[:limit]), next_before=found[limit - 1].id if more else None)


def trials_of(
    database: Database, job_id: str, owner: str | None, *, after: int = -1, limit: int = 1000
) -> tuple[JobTrial, ...]:
    """Return the trials of a job by number.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    with database.reading() as connection:
        read_job(connection, job_id, owner)
        return read_trials(connection, job_id, after=after, limit=limit)


def read_trials(
    connection: Connection, job_id: str, *, after: int = -1, limit: int | None = None
) -> tuple[JobTrial, ...]:
    """Return the trials of a job within a transaction."""
    mine = (trials.c.job_id == job_id, trials.c.number > after)
    query = select(trials).where(*mine).order_by(trials.c.number).limit(limit)
    return tuple(
        JobTrial(
            number=row.number,
            attempt=row.attempt,
            at=row.at,
            trial=Trial.model_validate_json(row.record),
        )
        for row in connection.execute(query)
    )


def events_of(
    database: Database, job_id: str, owner: str | None, *, after: int = 0, limit: int = 500
) -> tuple[JobEvent, ...]:
    """Return what happened to a job after an event, oldest first.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    with database.reading() as connection:
        read_job(connection, job_id, owner)
        return _events(connection, job_id, after, limit)


def recommendation_of(
    database: Database, job_id: str, owner: str | None
) -> tuple[State, str | None]:
    """Return the state of a job and, if it has one, its recommendation as JSON: of one moment.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    with database.reading() as connection:
        query = _of(select(jobs.c.state, jobs.c.recommendation), job_id, owner)
        row = connection.execute(query).first()
    if row is None:
        raise no_such_job()
    return State(row.state), row.recommendation


def story(database: Database, job_id: str, owner: str | None, latest: int) -> Story:
    """Return a job with its latest trials and events, and its recommendation.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    with database.reading() as connection:
        job = read_job(connection, job_id, owner)
        mine = jobs.c.id == job_id
        query = select(Now().label("now"), _spent_by_now(job_id).label("spent"))
        row = connection.execute(query.add_columns(jobs.c.recommendation).where(mine)).one()
        found = read_trials(connection, job_id, after=job.trials - latest - 1)
        told = _events(connection, job_id, job.events - latest, latest)
    best = row.recommendation and Recommendation.model_validate_json(row.recommendation)
    trials = tuple(each.trial for each in found)
    return Story(
        job=job, trials=trials, events=told, now=row.now, spent=row.spent, recommendation=best
    )


def counts(database: Database) -> dict[State, int]:
    """Return how many jobs are in each state."""
    query = select(jobs.c.state, func.count()).group_by(jobs.c.state)
    with database.reading() as connection:
        found = {State(state): count for state, count in connection.execute(query)}
    return {state: found.get(state, 0) for state in State}


def device_seconds(database: Database) -> float:
    """Return the seconds that all attempts have spent on their searches."""
    until = func.coalesce(attempts.c.ended_at, attempts.c.seen_at)
    query = select(func.coalesce(func.sum(until - attempts.c.began_at), 0.0))
    with database.reading() as connection:
        return float(connection.execute(query).scalar_one())


def spent(job_id: ColumnElement[str] | str) -> ColumnElement[float]:
    """Return the seconds that the attempts of a job have spent on its search."""
    until = func.coalesce(attempts.c.ended_at, attempts.c.seen_at)
    total = func.coalesce(func.sum(until - attempts.c.began_at), 0.0)
    return select(total).where(attempts.c.job_id == job_id).scalar_subquery()


def _spent_by_now(job_id: str) -> ColumnElement[float]:
    """As `spent`, counting on from when the attempt that runs was last heard of."""
    until = func.coalesce(attempts.c.ended_at, Now())
    total = func.coalesce(func.sum(until - attempts.c.began_at), 0.0)
    return select(total).where(attempts.c.job_id == job_id).scalar_subquery()


def _events(connection: Connection, job_id: str, after: int, limit: int) -> tuple[JobEvent, ...]:
    mine = (events.c.job_id == job_id, events.c.number > after)
    query = select(events).where(*mine).order_by(events.c.number).limit(limit)
    return tuple(
        JobEvent(number=row.number, at=row.at, body=happening.validate_json(row.body))
        for row in connection.execute(query)
    )


def _of(query: Select[Any], job_id: str, owner: str | None) -> Select[Any]:
    query = query.where(jobs.c.id == job_id)
    return query if owner is None else query.where(jobs.c.owner == owner)


def _position(connection: Connection, job_id: str, owner: str | None) -> int:
    found: int | None = connection.execute(_of(select(jobs.c.seq), job_id, owner)).scalar()
    if found is None:
        raise no_such_job()
    return found


def _conditions(owner: str | None, states: Collection[State]) -> list[ColumnElement[bool]]:
    found = []
    if owner is not None:
        found.append(jobs.c.owner == owner)
    if states:
        found.append(jobs.c.state.in_(states))
    return found


def _job(row: RowMapping) -> Job:
    return Job.model_validate({**row, "request": Tuning.model_validate_json(row["request"])})
