"""The jobs: asking for them within quotas, reading them, cancelling and removing them."""

import secrets
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from autotune.api.log import note
from autotune.api.requests import ListQuery, checked
from autotune.api.settings import Quotas, Settings
from autotune.api.store import code, reading
from autotune.api.store.attempts import AT_ONCE, Step, add_events, advance, unserved, waiting
from autotune.api.store.database import Database, Now, cause_of, insert_new, lock
from autotune.api.store.tables import attempts, check_schema, events, jobs, make, totals, trials
from autotune.api.store.workers import there
from autotune.api.values import read
from autotune.api.workloads import Registry
from autotune.machine import Machine
from autotune.result import Result
from autotune.text import plural
from autotune.trial import Trial
from autotune.wire.errors import (
    DatabaseUnavailable,
    IdempotencyMismatch,
    NotFound,
    OtherSchema,
    QuotaExceeded,
    SettingsError,
)
from autotune.wire.events import Cancelling, JobEvent, Queued
from autotune.wire.jobs import UNFINISHED, Job, JobRequest, Needs, Page, SeenWorker, State, Tuning

MOST_EVENTS = 500
MOST_TRIALS = 500
KEY_SECONDS = 7 * 24 * 3600.0  # as long as jobs are kept at least
"""After so long an idempotency key may be used for something else."""
MOST_SHOWN = 400
"""The number of trials, and of events, in the detail of a job."""
EVERY_JOB = ListQuery()
_ROOM = tuple(f"room {number}".ljust(2000) for number in range(4))
"""Names of totals by which it is found out whether there is room."""
_REMOVED = "device_seconds"
"""Name of the total of the seconds spent on searches whose jobs were removed."""


class JobDetail(NamedTuple):
    """A job with its latest trials and events."""

    job: Job
    trials: tuple[Trial, ...]
    events: tuple[JobEvent, ...]
    """Oldest first."""
    spent: float
    recommendation: Result | None


class Jobs:
    """Takes in jobs, reads and cancels them. Threads may share it.

    Everywhere `project` is the project of the caller; None finds jobs of all projects. A job of
    another project is not found.
    """

    def __init__(
        self, database: Database, registry: Registry, quotas: Quotas, machine: Machine | None = None
    ) -> None:
        self._database = database
        self._registry = registry
        self._quotas = quotas
        self._machine = machine

    def submit(
        self,
        request: JobRequest,
        project: str,
        idempotency_key: str | None = None,
        created_by: str | None = None,
    ) -> Job:
        """Take in a job, and return it with what it waits for; it survives a crash of anything."""
        tuning = checked(request, self._registry, self._quotas, self._able(request.needs))
        job_id, mark = secrets.token_hex(12), dict[str, str]()
        with self._database.writing() as connection:
            lock(connection, f"quota {project}")
            if idempotency_key:
                mark = {"idempotency_key": idempotency_key, "fingerprint": request.fingerprint}
                earlier = _earlier(connection, project, **mark)
                if earlier is not None:
                    return _placed(connection, earlier, project)
            _check_quotas(connection, project, self._quotas, tuning.seconds)
            program = tuning.program
            if program and not code.touch(connection, project, program.digest):
                raise code.unknown(program.digest)
            own = {"id": job_id, "project": project, **mark}
            _insert(connection, tuning, {**own, "created_by": created_by})
            add_events(connection, job_id, 0, [Queued()])
            job = _placed(connection, job_id, project)
        note("submit job", job_id)
        return job

    def _able(self, needs: Needs) -> tuple[Machine, ...]:
        """Return the machines that may run a job, as far as they are known."""
        if self._machine is not None:
            return (self._machine,)
        found = self.workers(None)
        able = [each.machine for each in found if needs.met_by(each.machine, each.labels)]
        return tuple(each for each in able if each is not None)

    def get(self, job_id: str, project: str | None) -> Job:
        with self._database.reading() as connection:
            return reading.read_job(connection, job_id, project)

    def placed(self, job_id: str, project: str | None) -> Job:
        with self._database.reading() as connection:
            return _placed(connection, job_id, project)

    def page(self, project: str | None, wanted: ListQuery = EVERY_JOB) -> Page:
        equal = {"project": project, "workload": wanted.workload, "verdict": wanted.verdict}
        fits = (jobs.c[name] == each for name, each in equal.items() if each is not None)
        query = select(*reading.COLUMNS, jobs.c.seq).where(*fits)
        query = query.order_by(jobs.c.seq.desc()).limit(wanted.limit + 1)
        with self._database.reading() as connection:
            if wanted.before is not None:
                last = reading.row_of(connection, wanted.before, project, jobs.c.seq)
                query = query.where(jobs.c.seq < last.seq)
            # Each state by its index: some are rare among a project's jobs.
            states = sorted(set(wanted.state))
            parts = [query.where(jobs.c.state == each) for each in states] or [query]
            rows: list[Any] = [row for each in parts for row in connection.execute(each).all()]
            rows = sorted(rows, key=lambda each: each.seq, reverse=True)
            found = []
            for each in rows[: wanted.limit]:
                # The place of each in the queue would take too long to find.
                waits = waiting(connection, each) if each.state == State.RUNNING else None
                found.append(reading.job_of(each).model_copy(update={"waiting": waits}))
        return Page(tunings=tuple(found), next=found[-1].id if len(rows) > wanted.limit else None)

    def trial_records(
        self, job_id: str, project: str | None, *, after: int = -1, limit: int = MOST_TRIALS
    ) -> Sequence[str]:
        with self._database.reading() as connection:
            reading.row_of(connection, job_id, project, jobs.c.id)
            return reading.records(connection, job_id, after=after, limit=limit)

    def trial(self, job_id: str, project: str | None, number: int) -> Trial:
        for record in self.trial_records(job_id, project, after=number - 1, limit=1):
            found = read(Trial, record)
            if found.number == number:
                return found
        raise NotFound("Trial not found.", "See the job's trials.")

    def events(self, job_id: str, project: str | None, *, after: int = 0) -> tuple[JobEvent, ...]:
        """Return what happened to a job after an event, oldest first; the last one is `ended`."""
        with self._database.reading() as connection:
            reading.row_of(connection, job_id, project, jobs.c.id)
            return reading.read_events(connection, job_id, after, MOST_EVENTS)

    def detail(self, job_id: str, project: str | None) -> JobDetail:
        """Return a job with its latest trials and events, and its recommendation."""
        with self._database.reading() as connection:
            job = _placed(connection, job_id, project)
            spent = select(reading.total_of(Now())).where(attempts.c.job_id == job_id)
            kept = reading.row_of(connection, job_id, project, jobs.c.recommendation)[0]
            return JobDetail(
                job=job,
                trials=reading.read_trials(connection, job_id, after=job.trials - MOST_SHOWN - 1),
                events=reading.read_events(connection, job_id, job.events - MOST_SHOWN, MOST_SHOWN),
                spent=connection.execute(spent).scalar_one(),
                recommendation=kept and reading.whole(connection, job_id, kept),
            )

    def cancel(self, job_id: str, project: str | None) -> Job:
        """Have a job end: at once if it waits, else nothing of it is left within forty seconds.

        A job that was cancelled before stays as it is.
        """
        with self._database.writing() as connection:
            row = reading.row_of(connection, job_id, project, jobs.c.state, hold=True)
            before = State(row.state)
            is_first = before not in (State.CANCELLING, State.CANCELLED)
            if is_first:
                to = State.CANCELLED if before is State.QUEUED else State.CANCELLING
                advance(connection, job_id, before, Step(to=to, events=[Cancelling()]))
            job = reading.read_job(connection, job_id, project)
        if is_first:
            note("cancel job", job_id)
        return job

    def recommendation(self, job_id: str, project: str | None) -> Result:
        with self._database.reading() as connection:
            found, _ = reading.ending(connection, job_id, project)
            return reading.whole(connection, job_id, found)

    def short_recommendation(self, job_id: str, project: str | None) -> tuple[str, int]:
        with self._database.reading() as connection:
            return reading.ending(connection, job_id, project)

    def workers(self, project: str | None) -> tuple[SeenWorker, ...]:
        with self._database.reading() as connection:
            return there(connection, project)

    def activity(self) -> tuple[Counter[str], int, float, float]:
        """Return the jobs by state, how many of them no worker serves, and two times in seconds.

        These are the time spent on all searches, those of removed jobs included, and the age of the
        oldest job that waits.
        """
        by_state = select(jobs.c.state, func.count()).group_by(jobs.c.state)
        removed = select(totals.c.value).where(totals.c.name == _REMOVED).scalar_subquery()
        spent = select(reading.total_of() + func.coalesce(removed, 0.0))
        age = select(Now() - jobs.c.created_at).where(jobs.c.state == State.QUEUED)
        with self._database.reading() as connection:
            return (
                Counter({row[0]: row[1] for row in connection.execute(by_state).all()}),
                unserved(connection),
                float(connection.execute(spent).scalar_one()),
                connection.execute(age.order_by(jobs.c.seq).limit(1)).scalar() or 0.0,
            )

    def check(self) -> None:
        """Make sure that the database answers, has the schema of this version, and has room."""
        check_schema(self._database)
        if self._database.full:  # No request may come meanwhile that finds out about new room.
            with self._database.writing() as connection:
                # What takes some pages is added, and taken away again.
                connection.execute(insert(totals), [{"name": each, "value": 0.0} for each in _ROOM])
                connection.execute(delete(totals).where(totals.c.name.in_(_ROOM)))


def open_database(settings: Settings) -> Database:
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise SettingsError(
            f"The data folder {settings.data.absolute()} cannot be created: {exc.strerror}.",
            "Set another `data` folder in the settings.",
        ) from exc
    database = Database(settings.database_url)
    file = database.file
    if file and not file.exists() and any(settings.jobs.glob("*")):
        # A new database would know nothing of the jobs whose files are there.
        raise SettingsError(
            f"{settings.jobs.absolute()} holds jobs, but their database {file} is missing.",
            "Put it back, from a backup; or remove that folder, to begin anew.",
        )
    try:
        make(database)
        database.close_to_others()
    except OtherSchema:
        raise
    except DatabaseUnavailable as exc:
        raise opening_error(exc) from exc
    return database


def opening_error(error: DatabaseUnavailable) -> DatabaseUnavailable:
    """Return the error of a database that cannot be opened; its text holds no password."""
    why = f"The database cannot be opened: {cause_of(error)}."
    return DatabaseUnavailable(why, "Mend that, or set another `database`.")


def _earlier(
    connection: Connection, project: str, idempotency_key: str, fingerprint: str
) -> str | None:
    mine = (jobs.c.project == project, jobs.c.idempotency_key == idempotency_key)
    query = select(jobs.c.id, jobs.c.fingerprint).where(*mine)
    found = connection.execute(query.where(jobs.c.created_at > Now() - KEY_SECONDS)).first()
    if found is not None and found.fingerprint != fingerprint:
        raise IdempotencyMismatch(
            "This idempotency key was already used with another request.",
            "Use a new key for a new request.",
        )
    return found and found.id


def _check_quotas(connection: Connection, project: str, quotas: Quotas, wanted: float) -> None:
    """Refuse a job of so many seconds if its project would have more than it may."""
    mine = jobs.c.project == project
    waits = select(func.count()).where(mine, jobs.c.state == State.QUEUED)
    if connection.execute(waits).scalar_one() >= quotas.queued:
        raise QuotaExceeded(
            f"This project may have at most {plural(quotas.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    # As a value: PostgreSQL plans for it, and scans all attempts for one that it does not know.
    since = connection.execute(select(Now() - quotas.window_seconds)).scalar_one()
    ended = jobs.join(attempts, jobs.c.id == attempts.c.job_id)
    used = select(reading.total_of()).select_from(ended).where(mine, jobs.c.ended_at > since)
    asked = select(func.coalesce(func.sum(jobs.c.budget_seconds), 0.0))
    asked = asked.where(mine, jobs.c.state.in_(UNFINISHED))
    taken = connection.execute(used).scalar_one() + connection.execute(asked).scalar_one()
    if taken + wanted > quotas.device_seconds:
        raise QuotaExceeded(
            f"This project may use the devices for {quotas.device_seconds:.0f} s within "
            f"{quotas.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )


def _placed(connection: Connection, job_id: str, project: str | None) -> Job:
    row = reading.row_of(connection, job_id, project, *reading.COLUMNS, jobs.c.needs)
    return reading.job_of(row).model_copy(update={"waiting": waiting(connection, row)})


def _insert(connection: Connection, tuning: Tuning, own: dict[str, str | None]) -> None:
    row = insert(jobs).values(
        **own,
        created_at=Now(),
        request=tuning.model_dump_json(),
        workload=tuning.workload,
        digest=tuning.program and tuning.program.digest,
        budget_seconds=tuning.seconds,
        needs=None if tuning.needs == Needs() else tuning.needs.model_dump_json(),
        priority=tuning.priority,
        state=State.QUEUED,
        events=1,
    )
    connection.execute(row)


def remove_ended(database: Database, older_seconds: float) -> int:
    """Remove some jobs that ended before a certain time, oldest first, with all that is of them."""
    with database.writing() as connection:
        # As a value: PostgreSQL uses no index for a clock that it reads row by row.
        until = connection.execute(select(Now() - older_seconds)).scalar_one()
        old = select(jobs.c.id).where(jobs.c.ended_at < until)
        query = old.order_by(jobs.c.ended_at).limit(AT_ONCE)
        found = connection.execute(query).scalars().all()
        if not found:
            return 0
        seconds = select(reading.total_of()).where(attempts.c.job_id.in_(found)).scalar_subquery()
        connection.execute(insert_new(connection, totals, name=_REMOVED, value=0.0))
        total = update(totals).where(totals.c.name == _REMOVED)
        connection.execute(total.values(value=totals.c.value + seconds))
        for table in (events, trials, attempts):
            connection.execute(delete(table).where(table.c.job_id.in_(found)))
        connection.execute(delete(jobs).where(jobs.c.id.in_(found)))
    return len(found)


def still_there(database: Database, job_ids: Collection[str]) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(jobs.c.id).where(jobs.c.id.in_(job_ids))).scalars())
