"""What is read of jobs."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Result, Row, Select, bindparam, func, select

from autotune.api.errors import no_such_job
from autotune.api.events import event
from autotune.api.states import State
from autotune.api.store.clock import Now
from autotune.api.store.database import Database
from autotune.api.tables import attempts, events, jobs, trials
from autotune.api.values import Job, JobEvent, JobTrial, Page, Story, Tuning
from autotune.recommendation import Recommendation
from autotune.trial import Trial

_COLUMNS = [jobs.c[name] for name in Job.model_fields]


class _OfOneJob:
    """A question about one job, made once: making a statement takes as long as running it.

    Args:
        query: What is asked; of which job, and whose it must be, is added.
    """

    def __init__(self, query: Select[Any]) -> None:
        self._anybodys = query.where(jobs.c.id == bindparam("job_id"))
        self._owned = self._anybodys.where(jobs.c.owner == bindparam("owner"))

    def ask(
        self, connection: Connection, job_id: str, owner: str | None, **given: int
    ) -> Result[Any]:
        """Ask it of a job; None for an owner is anybody."""
        if owner is None:
            return connection.execute(self._anybodys, {"job_id": job_id, **given})
        return connection.execute(self._owned, {"job_id": job_id, "owner": owner, **given})


_JOB = _OfOneJob(select(*_COLUMNS))
_EXISTS = _OfOneJob(select(jobs.c.id))
_ENDING = _OfOneJob(select(jobs.c.state, jobs.c.recommendation, jobs.c.trials))
_SHORT_ENDING = _OfOneJob(
    select(jobs.c.state, jobs.c.short_recommendation.label("recommendation"), jobs.c.trials)
)
_RECORDS = _OfOneJob(
    select(trials.c.record)
    .join(jobs, jobs.c.id == trials.c.job_id)
    .where(trials.c.number > bindparam("after"))
    .order_by(trials.c.number)
    .limit(bindparam("limit"))
)


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
    row = _JOB.ask(connection, job_id, owner).first()
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
    query = _page(frozenset(states), owned=owner is not None, paged=before is not None)
    given: dict[str, str | int | None] = {"limit": limit + 1}
    if owner is not None:
        given["owner"] = owner
    with database.reading() as connection:
        if before is not None:
            given["position"] = _position(connection, before, owner)
        found = [_job(row) for row in connection.execute(query, given)]
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


def trial_records_of(
    database: Database, job_id: str, owner: str | None, *, after: int = -1, limit: int = 1000
) -> tuple[str, ...]:
    """Return the trials of a job by number, each as JSON, as it is kept.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    with database.reading() as connection:
        records = _RECORDS.ask(connection, job_id, owner, after=after, limit=limit)
        found = records.scalars().all()
        if not found and _EXISTS.ask(connection, job_id, owner).first() is None:
            raise no_such_job()
    return tuple(found)


class Ending(NamedTuple):
    """What a job came to, all of one moment."""

    state: State
    recommendation: str | None
    """As JSON."""
    trials: int


def recommendation_of(database: Database, job_id: str, owner: str | None) -> Ending:
    """Return the state of a job and, if it has one, its recommendation.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    return _ending(database, _ENDING, job_id, owner)


def short_recommendation_of(database: Database, job_id: str, owner: str | None) -> Ending:
    """Return the state of a job and, if it has one, its recommendation without the trials.

    Raises:
        NotFound: There is no such job, or it is somebody else's.
    """
    return _ending(database, _SHORT_ENDING, job_id, owner)


def _ending(database: Database, query: _OfOneJob, job_id: str, owner: str | None) -> Ending:
    with database.reading() as connection:
        row = query.ask(connection, job_id, owner).first()
    if row is None:
        raise no_such_job()
    return Ending(State(row.state), row.recommendation, row.trials)


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
        JobEvent(number=row.number, at=row.at, body=event.validate_json(row.body))
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


@lru_cache(maxsize=256)
def _page(states: frozenset[State], *, owned: bool, paged: bool) -> Select[Any]:
    """Return the question for a page; there are few, and making one takes long."""
    query = select(*_COLUMNS).order_by(jobs.c.seq.desc()).limit(bindparam("limit"))
    if owned:
        query = query.where(jobs.c.owner == bindparam("owner"))
    if paged:
        query = query.where(jobs.c.seq < bindparam("position"))
    return query.where(jobs.c.state.in_(sorted(states))) if states else query


def _job(row: Row[Any]) -> Job:
    fields = dict(zip(Job.model_fields, row, strict=True))
    return Job.model_validate({**fields, "request": _request(fields["request"])})


@lru_cache(maxsize=256)
def _request(text: str) -> Tuning:
    """Return a job's request, which never changes and is read whenever somebody looks."""
    return Tuning.model_validate_json(text)
