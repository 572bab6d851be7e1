"""What an attempt writes; all of it is refused once its lease is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, case, exists, false, func, insert, select, update

from autotune.api.events import Ended, Event, Released
from autotune.api.states import State
from autotune.api.store.advance import (
    Cell,
    Step,
    advance_held,
    state_for_change,
    superseded,
)
from autotune.api.store.clock import Now, live
from autotune.api.store.database import Database
from autotune.api.store.leases import free, is_attempt, is_current
from autotune.api.store.shortened import without_trials
from autotune.api.tables import attempts, jobs, trials
from autotune.api.values import Birth, Grip, Outcome, Remains
from autotune.config import Configuration
from autotune.trial import Trial

FINISHED = "finished"
"""How an attempt ended that ended its job."""
RELEASED = "released"
"""How an attempt ended whose worker was asked to stop, or found the devices taken."""
STUCK = "stuck"
"""How an attempt ended whose host could not keep its files."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one message of an attempt's process adds to the record, all at once."""

    number: int
    """Of the message; each is recorded once, however often it is tried."""
    events: Sequence[Event] = ()
    trial: Trial | None = None
    """A trial that ended."""
    running: Configuration | None = None
    """The configuration that runs from now on; None where the message says nothing of that."""
    idle: bool = False
    """Nothing runs any more."""
    began: bool = False
    """The search begins."""
    study: str | None = None
    """What the study was made for."""


def note_process(database: Database, grip: Grip, birth: Birth) -> None:
    """Write down the process of an attempt, before it may do anything.

    Raises:
        Superseded: The lease is over.
    """
    values = {"pid": birth.pid, "pid_started": birth.started}
    with database.writing() as connection:
        advance_held(connection, grip, Step())
        connection.execute(update(attempts).where(is_attempt(grip)).values(values))


def record(database: Database, grip: Grip, report: Report) -> bool:
    """Record a message; return whether it was new.

    Raises:
        Superseded: The lease is over.
    """
    with database.writing() as connection:
        _hold(connection, grip)
        if not _count_message(connection, grip, report):
            return False
        columns: dict[str, Cell] = {}
        if report.trial is not None:
            _add_trial(connection, grip, report.trial)
            columns |= _standing(report.trial)
        if report.study is not None:
            columns["study"] = report.study
        step = Step(events=report.events, columns=columns)
        advance_held(connection, grip, step)
    return True


def finish(database: Database, grip: Grip, outcome: Outcome) -> State:
    """End the job and give the devices back; a job that is being cancelled ends as cancelled.

    Raises:
        Superseded: The lease is over.
    """
    with database.writing() as connection:
        free(connection, grip)
        state = _hold(connection, grip)
        to = State.CANCELLED if state is State.CANCELLING else outcome.state
        _end_attempt(connection, grip, FINISHED)
        ended = Ended(state=to, summary=outcome.summary, reason=outcome.reason)
        found = outcome.recommendation
        columns: dict[str, Cell] = {
            "ended_at": Now(),
            "expires_at": None,
            **outcome.model_dump(exclude={"state"}),
            "short_recommendation": found and without_trials(found),
        }
        advance_held(connection, grip, Step(to=to, events=[ended], columns=columns))
    return to


def let_go(database: Database, grip: Grip, ending: str, reason: str) -> State:
    """End the attempt and not the job, which waits for the next one unless it is cancelled.

    Raises:
        Superseded: The lease is over.
    """
    with database.writing() as connection:
        free(connection, grip)
        state = _hold(connection, grip)
        _end_attempt(connection, grip, ending)
        advance_held(connection, grip, _waiting(state, grip, reason))
    return State.CANCELLED if state is State.CANCELLING else State.QUEUED


def remains(database: Database, host: str) -> tuple[Remains, ...]:
    """Return the attempts on a host that are over and of which something may be left."""
    current = and_(jobs.c.attempt == attempts.c.number, live(jobs.c.expires_at))
    query = (
        select(attempts)
        .join(jobs, jobs.c.id == attempts.c.job_id)
        .where(
            attempts.c.host == host, attempts.c.swept.is_(False), ~func.coalesce(current, false())
        )
    )
    with database.reading() as connection:
        return tuple(
            Remains(
                job_id=row.job_id,
                attempt=row.number,
                marker=row.marker,
                birth=None if row.pid is None else Birth(pid=row.pid, started=row.pid_started),
            )
            for row in connection.execute(query)
        )


def swept(database: Database, what: Remains) -> None:
    """Note that nothing of an attempt is left."""
    mine = (attempts.c.job_id == what.job_id, attempts.c.number == what.attempt)
    with database.writing() as connection:
        connection.execute(update(attempts).where(*mine).values(swept=True))


def _hold(connection: Connection, grip: Grip) -> State:
    """Take the job's row for a transaction, if the attempt may write; return the state."""
    state = state_for_change(connection, grip.job_id)
    if connection.execute(select(jobs.c.id).where(is_current(grip))).first() is None:
        raise superseded()
    return state


def _count_message(connection: Connection, grip: Grip, report: Report) -> bool:
    values: dict[str, Cell] = {"messages": report.number, "seen_at": Now()}
    if report.running is not None:
        values["configuration"] = report.running.model_dump_json()
    elif report.idle:
        values["configuration"] = None
    if report.began:
        values["began_at"] = func.coalesce(attempts.c.began_at, Now())
    expected = (is_attempt(grip), attempts.c.messages == report.number - 1)
    return bool(connection.execute(update(attempts).where(*expected).values(values)).rowcount)


def _add_trial(connection: Connection, grip: Grip, trial: Trial) -> None:
    connection.execute(
        insert(trials).values(
            job_id=grip.job_id,
            number=trial.number,
            attempt=grip.attempt,
            record=trial.model_dump_json(),
            at=Now(),
        )
    )


def _standing(trial: Trial) -> dict[str, Cell]:
    """Return what a trial changes about how the job stands."""
    columns: dict[str, Cell] = {"trials": jobs.c.trials + 1}
    reached = trial.examples_per_second
    if trial.measured and reached is not None:
        name = "distributed" if trial.configuration.distributed else "one_device"
        columns[name] = case((jobs.c[name] > reached, jobs.c[name]), else_=reached)
    return columns


def _end_attempt(connection: Connection, grip: Grip, ending: str) -> None:
    values: dict[str, Any] = {"ended_at": Now(), "ending": ending, "swept": True}
    if ending == STUCK:
        mine = (trials.c.job_id == grip.job_id, trials.c.attempt == grip.attempt)
        # Time in which nothing could be measured is not taken off the job's budget.
        values["began_at"] = case((exists().where(*mine), attempts.c.began_at), else_=None)
    connection.execute(update(attempts).where(is_attempt(grip)).values(values))


def _waiting(state: State, grip: Grip, reason: str) -> Step:
    ended = Released(attempt=grip.attempt, reason=reason)
    if state is State.CANCELLING:
        events: list[Event] = [ended, Ended(state=State.CANCELLED)]
        columns: dict[str, Cell] = {"ended_at": Now(), "expires_at": None}
        return Step(to=State.CANCELLED, events=events, columns=columns)
    # What was not measured anywhere may be measured on any devices.
    devices = case((jobs.c.trials > 0, jobs.c.devices), else_=None)
    return Step(to=State.QUEUED, events=[ended], columns={"expires_at": None, "devices": devices})
