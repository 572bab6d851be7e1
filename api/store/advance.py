"""The one write to a job: checks who writes and whether it may, and numbers the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, insert, update

from autotune import events
from autotune.api.store.database import Now, live
from autotune.api.store.tables import events as rows, jobs
from autotune.api.values import LeaseToken
from autotune.events import TrialEnded
from autotune.wire.errors import IllegalTransition, Superseded
from autotune.wire.events import Ended, Event
from autotune.wire.jobs import FINAL, NEXT, State

CANCELLED = "The job was cancelled. Ask for it again to have it run to its end."
"""The reason of every job that was."""
Cell = str | float | int | None | ColumnElement[float] | ColumnElement[str | None]


MOST_ENTRIES = 50
"""The best of them are kept with each event."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What changes about a job, all at once; where it ends, the event and the time are added."""

    to: State | None = None
    """The state that follows; None for the same."""
    events: Sequence[Event] = ()
    columns: dict[str, Cell] = field(default_factory=dict)


def advance(
    connection: Connection, job_id: str, before: State, step: Step, attempt: int | None = None
) -> bool:
    """Change a job unless it has changed since it was read; return whether it had not.

    `before` is its state, `attempt` the number of its attempts, as the transaction has read them.
    """
    if step.to is not None and step.to not in NEXT[before]:
        raise IllegalTransition(
            f"A job that is {before} cannot become {step.to}.",
            "Fetch the job again; its state may have changed.",
        )
    condition = jobs.c.state == before
    if attempt is not None:
        condition &= jobs.c.attempt == attempt
    return _write(connection, job_id, step, condition)


def advance_held(connection: Connection, token: LeaseToken, step: Step) -> None:
    """Change a job in the name of an attempt; `Superseded` if that is not the current one."""
    fence = (jobs.c.attempt == token.attempt) & live(jobs.c.expires_at)
    if step.to is not None:
        fence &= jobs.c.state.in_([before for before in State if step.to in NEXT[before]])
    if not _write(connection, token.job_id, step, fence):
        raise superseded()


def superseded() -> Superseded:
    return Superseded("The attempt lost its lease.", "Leave the job to whoever has it now.")


def _write(connection: Connection, job_id: str, step: Step, condition: ColumnElement[bool]) -> bool:
    changes, happened = {**step.columns}, [*step.events]
    if step.to is not None:
        changes["state"] = step.to
    if step.to is State.CANCELLED:
        changes["reason"] = CANCELLED
    if step.to in FINAL:
        changes |= {"ended_at": Now(), "expires_at": None}
        happened.append(Ended.model_validate(changes, extra="ignore"))
    statement = (
        update(jobs)
        .where(jobs.c.id == job_id, condition)
        .values(events=jobs.c.events + len(happened), **changes)
        .returning(jobs.c.events)
    )
    last = connection.execute(statement).scalar()
    if last is not None:
        add_events(connection, job_id, last - len(happened), happened)
    return last is not None


def add_events(connection: Connection, job_id: str, after: int, events: Sequence[Event]) -> None:
    """Add events to a job whose row the transaction holds.

    That of a trial names the trial, which is kept in a table of its own.
    """
    added = []
    for number, each in enumerate(events, after + 1):
        trial = each.trial.number if isinstance(each, TrialEnded) else None
        body = brief(each).model_dump_json(exclude=None if trial is None else {"trial"})
        added.append({"job_id": job_id, "number": number, "trial": trial, "body": body})
    if added:
        connection.execute(insert(rows).values(at=Now()), added)


def brief(what: Event) -> Event:
    """Return an event without what the trials of the job hold already."""
    match what:
        case events.Planned():
            return what.model_copy(update={"kept": ()})
        case events.TrialEnded(trial=trial):
            shown = trial.model_copy(update={"windows": (), "detail": ""})
            entries = what.answer.entries[:MOST_ENTRIES] if what.answer else ()
            answer = what.answer and what.answer.model_copy(update={"entries": entries})
            return what.model_copy(update={"trial": shown, "answer": answer})
        case events.Notice(text=text):
            return what.model_copy(update={"text": text[:2000]})
    return what
