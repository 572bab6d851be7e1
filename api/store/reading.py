"""Reading jobs, within a transaction.

Of what another version has written, as much is told as can be; only where that would be wrong is it
an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError
from sqlalchemy import (
    ColumnElement,
    Connection,
    Result as Rows,
    Row,
    Select,
    and_,
    bindparam,
    func,
    select,
    union_all,
)

from autotune.api.errors import NoRecommendation, UnreadableRecord, no_such_job
from autotune.api.events import Event, brief, event
from autotune.api.records import OTHER_VERSION, read, read_as
from autotune.api.states import FINAL, State
from autotune.api.store.database import Now
from autotune.api.store.tables import attempts, events, jobs, labels, trials
from autotune.api.values import Job, JobEvent, JobTrial, Tuning
from autotune.events import Notice
from autotune.result import Result
from autotune.trial import Trial

MOST_TOLD = 400
"""Of the trials, and of the events, in the story of a job."""
_OWN = tuple(
    name for name in Job.model_fields if name in jobs.c and name not in Tuning.model_fields
)
COLUMNS = [*(jobs.c[name] for name in _OWN), jobs.c.request, jobs.c.workload, jobs.c.budget_seconds]
"""What is read of a job."""


class OfOneJob:
    """A query about one job, made once: making a statement takes as long as running it.

    Args:
        query: What is asked; of which job, and whose it must be, is added.
    """

    def __init__(self, query: Select[Any]) -> None:
        self._anybodys = query.where(jobs.c.id == bindparam("job_id"))
        self._owned = self._anybodys.where(jobs.c.project == bindparam("project"))

    def ask(
        self, connection: Connection, job_id: str, project: str | None, **given: int
    ) -> Rows[Any]:
        """Ask it of a job."""
        if project is None:
            return connection.execute(self._anybodys, {"job_id": job_id, **given})
        return connection.execute(self._owned, {"job_id": job_id, "project": project, **given})

    def one(self, connection: Connection, job_id: str, project: str | None) -> Row[Any]:
        """Return the only row of the answer.

        Raises:
            NotFound: There is no such job, or it is somebody else's.
        """
        row = self.ask(connection, job_id, project).first()
        if row is None:
            raise no_such_job()
        return row


JOB = OfOneJob(select(*COLUMNS))
POSITION = OfOneJob(select(jobs.c.seq))
REQUEST = OfOneJob(select(jobs.c.request, jobs.c.project))
ENDING = OfOneJob(select(jobs.c.state, jobs.c.reason, jobs.c.recommendation, jobs.c.trials))
RECORDS = OfOneJob(
    select(trials.c.record)
    .join(jobs, jobs.c.id == trials.c.job_id)
    .where(trials.c.number > bindparam("after"))
    .order_by(trials.c.number)
    .limit(bindparam("limit"))
)


def read_job(connection: Connection, job_id: str, project: str | None = None) -> Job:
    """Return a job within a transaction.

    Raises:
        NotFound: There is none, or it is somebody else's.
    """
    return job_of(JOB.one(connection, job_id, project))


def check_request(request: str) -> None:
    """Make sure that what a job is to do can be read.

    Raises:
        UnreadableRecord: Another version has written it.
    """
    _tuning(request)


def read_trials(connection: Connection, job_id: str, *, after: int = -1) -> tuple[JobTrial, ...]:
    """Return the trials of a job after a number within a transaction.

    Raises:
        UnreadableRecord: Another version has written one.
    """
    mine = (trials.c.job_id == job_id, trials.c.number > after)
    rows = connection.execute(select(trials).where(*mine).order_by(trials.c.number)).all()
    return tuple(
        JobTrial(
            number=row.number,
            attempt=row.attempt,
            at=row.at,
            trial=read(Trial, row.record),
        )
        for row in rows
    )


def spent(job_id: ColumnElement[str] | str, *, by_now: bool = False) -> ColumnElement[float]:
    """Return the seconds that the attempts of a job have spent on its search.

    Args:
        job_id: The job.
        by_now: Whether the attempt that runs counts until now, or until it was last heard of.
    """
    total = total_of(Now() if by_now else attempts.c.seen_at)
    return select(total).where(attempts.c.job_id == job_id).scalar_subquery()


def total_of(until: ColumnElement[Any] = attempts.c.seen_at) -> ColumnElement[float]:
    """Return the seconds of some attempts; `until` is for those that have not ended."""
    end = func.coalesce(attempts.c.ended_at, until)
    return func.coalesce(func.sum(end - attempts.c.began_at), 0.0)


def ending(connection: Connection, job_id: str, project: str | None) -> tuple[str, int]:
    """Return the recommendation of a job as it is kept, and how many trials there are.

    Raises:
        NotFound: There is no such job.
        NoRecommendation: It has none, or none yet.
    """
    row = ENDING.one(connection, job_id, project)
    if row.recommendation is not None:
        return row.recommendation, row.trials
    if row.state in FINAL:
        why = "See the job's reason." if row.reason else "Submit it again."
        raise NoRecommendation(f"The job is {row.state} and has no recommendation.", why)
    raise NoRecommendation(f"The job is {row.state}.", "Wait until the job is done.")


def whole(connection: Connection, job_id: str, kept: str) -> Result:
    """Return a recommendation with its trials.

    Raises:
        UnreadableRecord: Another version has written it.
    """
    query = select(trials.c.record).where(trials.c.job_id == job_id).order_by(trials.c.number)
    records = connection.execute(query).scalars().all()
    return read(Result, f'{kept[:-1]},"trials":[{",".join(records)}]}}')


def read_events(
    connection: Connection, job_id: str, after: int, limit: int
) -> tuple[JobEvent, ...]:
    """Return what happened to a job after an event, oldest first."""
    mine = (events.c.job_id == job_id, events.c.number > after)
    of_trial = and_(trials.c.job_id == events.c.job_id, trials.c.number == events.c.trial)
    query = select(events, trials.c.record).outerjoin(trials, of_trial).where(*mine)
    rows = connection.execute(query.order_by(events.c.number).limit(limit)).all()
    return tuple(JobEvent(number=row.number, at=row.at, body=_body(row)) for row in rows)


def _body(row: Row[Any]) -> Event:
    """Return what happened; of what another version has written, only that something did."""
    text = row.body if row.record is None else f'{row.body[:-1]},"trial":{row.record}}}'
    try:
        return brief(read_as(event, text))
    except UnreadableRecord as exc:
        return Notice(text=exc.cause)


def shown(
    connection: Connection, job: Job, recommendation: str | None
) -> tuple[tuple[Trial, ...], Result | None]:
    """Return the latest trials and the result; nothing if another version has written them."""
    try:
        found = read_trials(connection, job.id, after=job.trials - MOST_TOLD - 1)
        best = None if recommendation is None else whole(connection, job.id, recommendation)
    except UnreadableRecord:
        return (), None
    return tuple(each.trial for each in found), best


_WANTED: Mapping[str, ColumnElement[bool]] = {
    "project": jobs.c.project == bindparam("project"),
    "position": jobs.c.seq < bindparam("position"),
    "workload": jobs.c.workload == bindparam("workload"),
    "verdict": jobs.c.verdict == bindparam("verdict"),
    "since": jobs.c.created_at >= bindparam("since"),
    "until": jobs.c.created_at < bindparam("until"),
}
"""What a page may be asked for, by the name of its value."""


def page_rows(
    connection: Connection, project: str | None, states: frozenset[State], given: Mapping[str, Any]
) -> list[Row[Any]]:
    """Return the rows of a page, newest first.

    Args:
        connection: The transaction.
        project: str | None jobs.
        states: Those of the jobs; empty for any.
        given: What else is asked for, with the most rows as `limit`.
    """
    values = {
        name: each for name, each in {**given, "project": project}.items() if each is not None
    }
    query = _page_query(states, frozenset(values))
    return list(connection.execute(query, values).all())


@lru_cache(maxsize=256)
def _page_query(states: frozenset[State], given: frozenset[str]) -> Select[Any]:
    """Return the query for a page; there are few, and making one takes long.

    Args:
        states: Those of the jobs; empty for any.
        given: The names of what else is asked for, whose values come with the query.
    """
    query = _labelled(select(*COLUMNS, jobs.c.seq), given).limit(bindparam("limit"))
    query = query.where(*(_WANTED[name] for name in sorted(given & _WANTED.keys())))
    if not states:
        return query
    # Each state by its index: some are rare among a project's jobs.
    bounds = query.with_only_columns(jobs.c.seq)
    parts = [select(bounds.where(jobs.c.state == each).subquery()) for each in sorted(states)]
    latest = select(*COLUMNS, jobs.c.seq).where(jobs.c.seq.in_(union_all(*parts)))
    return latest.order_by(jobs.c.seq.desc()).limit(bindparam("limit"))


def label_name(number: int) -> str:
    """Return the name under which a query takes a label that is asked for."""
    return f"label_{number}"


def _labelled(query: Select[Any], given: frozenset[str]) -> Select[Any]:
    """Return a query for the jobs, newest first, that have the labels which come with it."""
    order = jobs.c.seq
    for name in sorted(each for each in given if each.startswith(label_name(0)[:-1])):
        mine = labels.alias()
        query = query.join(mine, mine.c.seq == order).where(mine.c.label == bindparam(name))
        if "project" in given:
            query = query.where(mine.c.project == bindparam("project"))
        order = mine.c.seq
    return query.order_by(order.desc())


def job_of(row: Row[Any]) -> Job:
    """Return a job; of one that another version has written, what every version tells."""
    own = dict(zip(_OWN, row, strict=False))
    try:
        return Job.model_validate({**vars(_tuning(row.request)), **own})
    except (UnreadableRecord, ValidationError):
        known = {"workload": row.workload, "budget": row.budget_seconds, **own, "verdict": None}
        known |= {"reason": row.reason or OTHER_VERSION}
        known |= {} if row.state in list(State) else {"state": State.FAILED}
        return Job.model_validate(known)


@lru_cache(maxsize=256)
def _tuning(text: str) -> Tuning:
    """Return a job's request, which never changes and is read whenever somebody looks."""
    return read(Tuning, text)
