"""Reading jobs, within a transaction."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, Row, and_, case, func, select

from autotune.api.store.tables import attempts, events, jobs, trials
from autotune.api.values import UNREADABLE, read
from autotune.events import Notice, Planned, TrialEnded
from autotune.result import Result
from autotune.trial import Trial
from autotune.wire.errors import NoRecommendation, UnreadableRecord, no_such_job
from autotune.wire.events import Event, JobEvent
from autotune.wire.jobs import FINAL, Job, State, Tuning

_OWN = [name for name in Job.model_fields if name in jobs.c and name not in Tuning.model_fields]
COLUMNS = [*(jobs.c[name] for name in _OWN), jobs.c.request, jobs.c.workload, jobs.c.digest]
MOST_ENTRIES = 50
"""The best of them are kept with each event."""
_EVENT = TypeAdapter[Event](Event)


def row_of(
    connection: Connection,
    job_id: str,
    project: str | None,
    *columns: ColumnElement[Any],
    hold: bool = False,
) -> Row[Any]:
    """Return columns of a job, which must be of the project; None stands for any.

    With `hold` no other transaction changes the job until this one ends.
    """
    query = select(*columns).where(jobs.c.id == job_id)
    if hold:
        query = query.with_for_update()
    if project is not None:
        query = query.where(jobs.c.project == project)
    row = connection.execute(query).first()
    if row is None:
        raise no_such_job()
    return row


def read_job(connection: Connection, job_id: str, project: str | None = None) -> Job:
    return job_of(row_of(connection, job_id, project, *COLUMNS))


def job_of(row: Row[Any]) -> Job:
    """Return a job; one whose record is damaged has what its columns hold."""
    own = {name: getattr(row, name) for name in _OWN}
    try:
        return Job.model_validate({**vars(request_of(row.request)), **own})
    except (UnreadableRecord, ValidationError):
        known = {**own, "workload": row.workload, "verdict": None}
        state = row.state if row.state in list(State) else State.FAILED
        return Job.model_validate({**known, "state": state, "reason": row.reason or UNREADABLE})


@lru_cache(maxsize=256)
def request_of(record: str) -> Tuning:
    """Return the request of a job, which never changes and is read often."""
    return read(Tuning, record)


def records(
    connection: Connection, job_id: str, *, after: int = -1, limit: int | None = None
) -> Sequence[str]:
    """Return the trials of a job after a number, each as JSON; reading them takes longest."""
    mine = (trials.c.job_id == job_id, trials.c.number > after)
    query = select(trials.c.record).where(*mine).order_by(trials.c.number).limit(limit)
    return connection.execute(query).scalars().all()


def read_trials(connection: Connection, job_id: str, *, after: int = -1) -> tuple[Trial, ...]:
    return tuple(read(Trial, each) for each in records(connection, job_id, after=after))


def total_of(until: ColumnElement[Any] = attempts.c.seen_at) -> ColumnElement[float]:
    """Return the seconds that some attempts have spent on searches.

    `until` is for those that have not ended, which as a rule count until they were last heard of.
    """
    took = func.coalesce(attempts.c.ended_at, until) - attempts.c.began_at
    # Not below zero, though the clock was put back meanwhile.
    return func.coalesce(func.sum(case((took > 0, took), else_=0.0)), 0.0)


def ending(connection: Connection, job_id: str, project: str | None) -> tuple[str, int]:
    asked = (jobs.c.state, jobs.c.reason, jobs.c.recommendation, jobs.c.trials)
    row = row_of(connection, job_id, project, *asked)
    if row.recommendation is not None:
        return row.recommendation, row.trials
    if row.state in FINAL:
        why = "See the job's reason." if row.reason else "Submit it again."
        raise NoRecommendation(f"The job is {row.state} and has no recommendation.", why)
    raise NoRecommendation(f"The job is {row.state}.", "Wait until the job is done.")


def whole(connection: Connection, job_id: str, kept: str) -> Result:
    return read(Result, f'{kept[:-1]},"trials":[{",".join(records(connection, job_id))}]}}')


def read_events(
    connection: Connection, job_id: str, after: int, limit: int
) -> tuple[JobEvent, ...]:
    mine = (events.c.job_id == job_id, events.c.number > after)
    of_trial = and_(trials.c.job_id == events.c.job_id, trials.c.number == events.c.trial)
    query = select(events, trials.c.record).outerjoin(trials, of_trial).where(*mine)
    rows = connection.execute(query.order_by(events.c.number).limit(limit)).all()
    return tuple(JobEvent(number=row.number, at=row.at, body=_body(row)) for row in rows)


def _body(row: Row[Any]) -> Event:
    """Return an event; one whose record is damaged becomes a notice of that."""
    text = row.body if row.record is None else f'{row.body[:-1]},"trial":{row.record}}}'
    try:
        return brief(read(_EVENT, text))
    except UnreadableRecord as exc:
        return Notice(text=exc.cause)


def brief(what: Event) -> Event:
    """Return an event without what the trials of the job hold already."""
    match what:
        case Planned():
            return what.model_copy(update={"kept": ()})
        case TrialEnded(trial=trial):
            shown = trial.model_copy(update={"windows": (), "detail": ""})
            entries = what.answer.entries[:MOST_ENTRIES] if what.answer else ()
            answer = what.answer and what.answer.model_copy(update={"entries": entries})
            return what.model_copy(update={"trial": shown, "answer": answer})
        case Notice(text=text):
            return what.model_copy(update={"text": text[:2000]})
    return what
