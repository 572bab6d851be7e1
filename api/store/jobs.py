"""The jobs: asking for them, reading them, cancelling and removing them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Result as Rows,
    Row,
    Select,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
)

from autotune.api.errors import (
    DatabaseUnavailable,
    IdempotencyMismatch,
    NoRecommendation,
    QuotaExceeded,
    no_such_job,
)
from autotune.api.events import Cancelling, Ended, Event, Queued, event
from autotune.api.requests import JobRequest, checked
from autotune.api.settings import Quotas, Settings
from autotune.api.states import FINAL, UNFINISHED, State
from autotune.api.store.advance import Step, add_events, advance, state_for_change
from autotune.api.store.database import Database, Now, insert_new
from autotune.api.store.migrations import is_current, migrate
from autotune.api.store.tables import attempts, events, idempotency, jobs, trials
from autotune.api.values import Job, JobEvent, JobTrial, Page, Story, Tuning
from autotune.api.workloads import Registry
from autotune.machine import Machine
from autotune.result import Result
from autotune.trial import Trial
from autotune.wording import plural

MOST_JOBS = 100
MOST_EVENTS = 500
MOST_TRIALS = 500
MOST_TOLD = 400
"""Of the trials, and of the events, in the story of a job."""
AT_ONCE = 50
"""Jobs that one transaction removes, so that nobody waits long for its end."""
_OWN = tuple(name for name in Job.model_fields if name not in Tuning.model_fields)
COLUMNS = [*(jobs.c[name] for name in _OWN), jobs.c.request]
"""What is read of a job."""


class _OfOneJob:
    """A query about one job, made once: making a statement takes as long as running it.

    Args:
        query: What is asked; of which job, and whose it must be, is added.
    """

    def __init__(self, query: Select[Any]) -> None:
        self._anybodys = query.where(jobs.c.id == bindparam("job_id"))
        self._owned = self._anybodys.where(jobs.c.owner == bindparam("owner"))

    def ask(
        self, connection: Connection, job_id: str, owner: str | None, **given: int
    ) -> Rows[Any]:
        """Ask it of a job; None for an owner is anybody."""
        if owner is None:
            return connection.execute(self._anybodys, {"job_id": job_id, **given})
        return connection.execute(self._owned, {"job_id": job_id, "owner": owner, **given})

    def one(self, connection: Connection, job_id: str, owner: str | None) -> Row[Any]:
        """Return the only row of the answer.

        Raises:
            NotFound: There is no such job, or it is somebody else's.
        """
        row = self.ask(connection, job_id, owner).first()
        if row is None:
            raise no_such_job()
        return row


_JOB = _OfOneJob(select(*COLUMNS))
_POSITION = _OfOneJob(select(jobs.c.seq))
_ENDING = _OfOneJob(select(jobs.c.state, jobs.c.recommendation, jobs.c.trials))
_RECORDS = _OfOneJob(
    select(trials.c.record)
    .join(jobs, jobs.c.id == trials.c.job_id)
    .where(trials.c.number > bindparam("after"))
    .order_by(trials.c.number)
    .limit(bindparam("limit"))
)


class Jobs:
    """Takes in jobs and tells of them. Threads may share it.

    Everywhere `owner` is the id of the key that asks, or None for one that may see everything. A
    job of somebody else's is not found.

    Args:
        database: Keeps the jobs.
        registry: The workloads that may be asked for.
        quotas: What one key may have.
        machine: Returns at once what jobs are measured on, or None while that is not known; then
            nobody checks here whether anything of a space can run, and the job's worker finds out.
    """

    def __init__(
        self,
        database: Database,
        registry: Registry,
        quotas: Quotas,
        machine: Callable[[], Machine | None] = lambda: None,
    ) -> None:
        self._database = database
        self._registry = registry
        self._quotas = quotas
        self._machine = machine

    def submit(self, request: JobRequest, owner: str, idempotency_key: str | None = None) -> Job:
        """Take in a job; when this returns, it survives a crash of anything.

        Args:
            request: What was asked for.
            owner: Whose it will be.
            idempotency_key: With the same one the same request makes no second job.

        Raises:
            InvalidTuning: The request is wrong.
            QuotaExceeded: The owner has as much as it may.
            IdempotencyMismatch: The idempotency key came with another request before.
        """
        tuning = checked(request, self._registry, self._quotas, self._machine())
        job_id = secrets.token_hex(12)
        with self._database.writing() as connection:
            if idempotency_key:
                claim = {"owner": owner, "key": idempotency_key, "fingerprint": request.fingerprint}
                earlier = _claim_key(connection, claim, job_id)
                if earlier is not None:
                    return read_job(connection, earlier, owner)
            _check_quotas(connection, owner, self._quotas, tuning.seconds)
            _insert(connection, job_id, owner, tuning)
            add_events(connection, job_id, 0, [Queued()])
            return read_job(connection, job_id, owner)

    def get(self, job_id: str, owner: str | None) -> Job:
        """Return a job as it stands.

        Raises:
            NotFound: There is none.
        """
        with self._database.reading() as connection:
            return read_job(connection, job_id, owner)

    def page(
        self,
        owner: str | None,
        *,
        states: Collection[State] = (),
        before: str | None = None,
        limit: int = 20,
    ) -> Page:
        """Return some jobs, newest first.

        Args:
            owner: Whose.
            states: Only those in one of these; empty for all.
            before: The `next` of the page before; None for the first.
            limit: At most so many, and at most `MOST_JOBS`.

        Raises:
            NotFound: There is no job `before`.
        """
        most = max(1, min(limit, MOST_JOBS))
        query = _page(frozenset(states), owned=owner is not None, paged=before is not None)
        given: dict[str, str | int | None] = {"limit": most + 1, "owner": owner}
        with self._database.reading() as connection:
            if before is not None:
                given["position"] = _POSITION.one(connection, before, owner).seq
            found = [_job(row) for row in connection.execute(query, given)]
        more = len(found) > most
        return Page(tunings=tuple(found[:most]), next=found[most - 1].id if more else None)

    def trials(self, job_id: str, owner: str | None) -> tuple[JobTrial, ...]:
        """Return the trials of a job by number.

        Raises:
            NotFound: There is no such job.
        """
        with self._database.reading() as connection:
            read_job(connection, job_id, owner)
            return read_trials(connection, job_id)

    def trial_records(
        self, job_id: str, owner: str | None, *, after: int = -1, limit: int = MOST_TRIALS
    ) -> tuple[str, ...]:
        """Return the trials of a job after a number, each as JSON; reading them takes longest.

        Raises:
            NotFound: There is no such job.
        """
        most = max(1, min(limit, MOST_TRIALS))
        with self._database.reading() as connection:
            found = _RECORDS.ask(connection, job_id, owner, after=after, limit=most).scalars().all()
            if not found:
                read_job(connection, job_id, owner)
        return tuple(found)

    def events(
        self, job_id: str, owner: str | None, *, after: int = 0, limit: int = MOST_EVENTS
    ) -> tuple[JobEvent, ...]:
        """Return what happened to a job after an event, oldest first; the last one is `ended`.

        Raises:
            NotFound: There is no such job.
        """
        most = max(1, min(limit, MOST_EVENTS))
        with self._database.reading() as connection:
            read_job(connection, job_id, owner)
            return _events(connection, job_id, after, most)

    def story(self, job_id: str, owner: str | None) -> Story:
        """Return a job with its latest trials and events, and its recommendation if there is one.

        Raises:
            NotFound: There is no such job.
        """
        with self._database.reading() as connection:
            job = read_job(connection, job_id, owner)
            query = select(Now().label("now"), spent(job_id, by_now=True).label("spent"))
            query = query.add_columns(jobs.c.recommendation).where(jobs.c.id == job_id)
            row = connection.execute(query).one()
            found = read_trials(connection, job_id, after=job.trials - MOST_TOLD - 1)
            told = _events(connection, job_id, job.events - MOST_TOLD, MOST_TOLD)
            best = row.recommendation and _whole(connection, job_id, row.recommendation)
        return Story(
            job=job,
            trials=tuple(each.trial for each in found),
            events=told,
            now=row.now,
            spent=row.spent,
            recommendation=best,
        )

    def cancel(self, job_id: str, owner: str | None) -> Job:
        """Have a job end: at once if it waits, else nothing of it is left within ten seconds.

        A job that was cancelled before stays as it is.

        Raises:
            NotFound: There is no such job.
            IllegalTransition: It has ended otherwise.
        """
        with self._database.writing() as connection:
            read_job(connection, job_id, owner)
            state = state_for_change(connection, job_id)
            if state not in (State.CANCELLING, State.CANCELLED):
                advance(connection, job_id, _cancelling(state))
            return read_job(connection, job_id, owner)

    def recommendation(self, job_id: str, owner: str | None) -> Result:
        """Return the recommendation of a job.

        Raises:
            NotFound: There is no such job.
            NoRecommendation: It has none, or none yet.
        """
        with self._database.reading() as connection:
            found, _ = _ending(connection, job_id, owner)
            return _whole(connection, job_id, found)

    def short_recommendation(self, job_id: str, owner: str | None) -> tuple[str, int]:
        """Return the recommendation of a job as JSON without its trials, and how many these are.

        Raises:
            NotFound: There is no such job.
            NoRecommendation: It has none, or none yet.
        """
        with self._database.reading() as connection:
            return _ending(connection, job_id, owner)

    def counts(self) -> dict[State, int]:
        """Return how many jobs are in each state."""
        query = select(jobs.c.state, func.count()).group_by(jobs.c.state)
        with self._database.reading() as connection:
            found = {State(state): count for state, count in connection.execute(query)}
        return {state: found.get(state, 0) for state in State}

    def device_seconds(self) -> float:
        """Return the seconds that all jobs together have spent on their searches."""
        with self._database.reading() as connection:
            return float(connection.execute(select(_total())).scalar_one())

    def check(self) -> None:
        """Make sure that the database answers and has the schema of this version.

        Raises:
            DatabaseUnavailable: It does not.
        """
        if not is_current(self._database):
            raise DatabaseUnavailable(
                "The database schema is from another version.", "Restart the service."
            )


def open_database(settings: Settings) -> Database:
    """Return the database of some settings, with the schema up to date.

    Raises:
        SettingsError: The settings are wrong.
        DatabaseUnavailable: The database does not answer.
    """
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.database_url)
    migrate(database)
    return database


def read_job(connection: Connection, job_id: str, owner: str | None = None) -> Job:
    """Return a job within a transaction.

    Raises:
        NotFound: There is none, or it is somebody else's.
    """
    return _job(_JOB.one(connection, job_id, owner))


def read_trials(connection: Connection, job_id: str, *, after: int = -1) -> tuple[JobTrial, ...]:
    """Return the trials of a job after a number within a transaction."""
    mine = (trials.c.job_id == job_id, trials.c.number > after)
    rows = connection.execute(select(trials).where(*mine).order_by(trials.c.number)).all()
    return tuple(
        JobTrial(
            number=row.number,
            attempt=row.attempt,
            at=row.at,
            trial=Trial.model_validate_json(row.record),
        )
        for row in rows
    )


def spent(job_id: ColumnElement[str] | str, *, by_now: bool = False) -> ColumnElement[float]:
    """Return the seconds that the attempts of a job have spent on its search.

    Args:
        job_id: The job.
        by_now: Whether the attempt that runs counts until now, or until it was last heard of.
    """
    total = _total(Now() if by_now else attempts.c.seen_at)
    return select(total).where(attempts.c.job_id == job_id).scalar_subquery()


def forget_keys(database: Database, older_seconds: float) -> None:
    """Forget idempotency keys of a certain age."""
    with database.writing() as connection:
        old = idempotency.c.created_at < Now() - older_seconds
        connection.execute(delete(idempotency).where(old))


def remove_ended(database: Database, older_seconds: float) -> int:
    """Remove some jobs that ended before a certain time, oldest first, with all that is of them.

    Returns:
        How many; fewer than `AT_ONCE` if none are left.
    """
    old = (jobs.c.state.in_(FINAL), jobs.c.ended_at < Now() - older_seconds)
    query = select(jobs.c.id).where(*old).order_by(jobs.c.seq).limit(AT_ONCE)
    with database.writing() as connection:
        found = connection.execute(query).scalars().all()
        for table in (events, trials, attempts, idempotency):
            connection.execute(delete(table).where(table.c.job_id.in_(found)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(found)))
    return len(found)


def still_there(database: Database, job_ids: Collection[str]) -> set[str]:
    """Return those of some jobs that are kept."""
    with database.reading() as connection:
        return set(connection.execute(select(jobs.c.id).where(jobs.c.id.in_(job_ids))).scalars())


def _total(until: ColumnElement[Any] = attempts.c.seen_at) -> ColumnElement[float]:
    """Return the seconds of some attempts; `until` is for those that have not ended."""
    end = func.coalesce(attempts.c.ended_at, until)
    return func.coalesce(func.sum(end - attempts.c.began_at), 0.0)


def _ending(connection: Connection, job_id: str, owner: str | None) -> tuple[str, int]:
    """Return the recommendation of a job as it is kept, and how many trials there are.

    Raises:
        NotFound: There is no such job.
        NoRecommendation: It has none, or none yet.
    """
    row = _ENDING.one(connection, job_id, owner)
    if row.recommendation is not None:
        return row.recommendation, row.trials
    if row.state in FINAL:
        raise NoRecommendation(
            f"The job is {row.state} and has no recommendation.", "See the job's reason."
        )
    raise NoRecommendation(f"The job is {row.state}.", "Wait until the job is done.")


def _whole(connection: Connection, job_id: str, kept: str) -> Result:
    """Return a recommendation with its trials."""
    query = select(trials.c.record).where(trials.c.job_id == job_id).order_by(trials.c.number)
    records = connection.execute(query).scalars().all()
    return Result.model_validate_json(f'{kept[:-1]},"trials":[{",".join(records)}]}}')


def _events(connection: Connection, job_id: str, after: int, limit: int) -> tuple[JobEvent, ...]:
    mine = (events.c.job_id == job_id, events.c.number > after)
    query = select(events).where(*mine).order_by(events.c.number).limit(limit)
    return tuple(
        JobEvent(number=row.number, at=row.at, body=event.validate_json(row.body))
        for row in connection.execute(query).all()
    )


@lru_cache(maxsize=256)
def _page(states: frozenset[State], *, owned: bool, paged: bool) -> Select[Any]:
    """Return the query for a page; there are few, and making one takes long."""
    query = select(*COLUMNS).order_by(jobs.c.seq.desc()).limit(bindparam("limit"))
    if owned:
        query = query.where(jobs.c.owner == bindparam("owner"))
    if paged:
        query = query.where(jobs.c.seq < bindparam("position"))
    return query.where(jobs.c.state.in_(sorted(states))) if states else query


def _job(row: Row[Any]) -> Job:
    return Job.model_validate({**vars(_tuning(row.request)), **dict(zip(_OWN, row, strict=False))})


@lru_cache(maxsize=256)
def _tuning(text: str) -> Tuning:
    """Return a job's request, which never changes and is read whenever somebody looks."""
    return Tuning.model_validate_json(text)


def _cancelling(state: State) -> Step:
    if state is not State.QUEUED:
        return Step(to=State.CANCELLING, events=[Cancelling()])
    told: list[Event] = [Cancelling(), Ended(state=State.CANCELLED)]
    return Step(to=State.CANCELLED, events=told, columns={"ended_at": Now()})


def _claim_key(connection: Connection, claim: dict[str, str], job_id: str) -> str | None:
    """Take an idempotency key for a job; return the job that has it already, if there is one."""
    # Waits for a transaction that adds the same key in this moment.
    added = insert_new(connection, idempotency, **claim, job_id=job_id, created_at=Now())
    if connection.execute(added.returning(idempotency.c.job_id)).first():
        return None
    mine = (idempotency.c.owner == claim["owner"], idempotency.c.key == claim["key"])
    query = select(idempotency.c.job_id, idempotency.c.fingerprint).where(*mine)
    found: str
    found, fingerprint = connection.execute(query).one()
    if fingerprint != claim["fingerprint"]:
        raise IdempotencyMismatch(
            "This idempotency key was already used with another request.",
            "Use a new key for a new request.",
        )
    return found


def _check_quotas(connection: Connection, owner: str, quotas: Quotas, wanted: float) -> None:
    queued = select(func.count()).where(jobs.c.owner == owner, jobs.c.state == State.QUEUED)
    if connection.execute(queued).scalar_one() >= quotas.queued:
        raise QuotaExceeded(
            f"This API key may have at most {plural(quotas.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    # Of the jobs that ended what they used, of the others what they may use.
    used = case((jobs.c.state.in_(FINAL), spent(jobs.c.id)), else_=jobs.c.budget_seconds)
    recent = jobs.c.ended_at > Now() - quotas.window_seconds
    total = select(func.coalesce(func.sum(used), 0.0)).where(
        jobs.c.owner == owner, jobs.c.state.in_(UNFINISHED) | recent
    )
    if connection.execute(total).scalar_one() + wanted > quotas.device_seconds:
        raise QuotaExceeded(
            f"This API key may use the devices for {quotas.device_seconds:.0f} s within "
            f"{quotas.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )


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
