"""The webhooks of projects, and what each of them is still to be told.

What it is told is added by the transaction that ends the job, so that neither is there without the
other. Whoever sends it takes the webhook first, for a while: nothing is sent to it twice at once,
one that is slow keeps nobody else waiting, and what a sender that died had in hand is sent again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from autotune.api.errors import NotFound, QuotaExceeded
from autotune.api.log import note
from autotune.api.settings import WebhookLimits
from autotune.api.store.database import Database, Now, ahead, lapsed, lock
from autotune.api.store.tables import deliveries, jobs, webhooks
from autotune.api.webhooks import (
    Delivery,
    EndedJob,
    NewWebhook,
    Notification,
    Occasion,
    Parcel,
    Standing,
    Trouble,
    Webhook,
    new_secret,
)
from autotune.wording import plural

MOST_PENDING = 500
"""Deliveries that may wait for one webhook; of what comes on top it is not told."""
MOST_TOLD = 100
OVERLAP_SECONDS = 24 * 3600.0
"""How long a secret that was replaced signs as well."""
EXPIRES_SECONDS = 3 * 24 * 3600.0
"""So old a delivery is not sent any more."""
KEPT_SECONDS = 7 * 24 * 3600.0
"""How long a delivery that is over is kept."""


class Webhooks:
    """Adds webhooks and tells of them. Threads may share it.

    Everywhere `project` is where whoever asks may change something: one, several, or None for all.

    Args:
        database: Keeps them.
        limits: How many there may be.
    """

    def __init__(self, database: Database, limits: WebhookLimits) -> None:
        self._database = database
        self._limits = limits

    def add(
        self, url: str, events: Sequence[Occasion], project: str, created_by: str | None = None
    ) -> NewWebhook:
        """Add a webhook; this is the only time that its secret is told.

        Args:
            url: The address that is told.
            events: What of.
            project: str | None jobs.
            created_by: The id of the key that adds it.

        Raises:
            QuotaExceeded: The project has as many as it may.
        """
        new = {"id": secrets.token_hex(12), "secret": new_secret(), "created_by": created_by}
        with self._database.writing() as connection:
            lock(connection, f"webhooks {project}")
            self._check_room(connection, project)
            row = insert(webhooks).values(
                **new, project=project, url=url, events=" ".join(events), created_at=Now()
            )
            connection.execute(row.values(tried_at=0.0))
            note("add webhook", str(new["id"]))
            return _new(_one(connection, str(new["id"]), project))

    def all(self, project: str | None) -> tuple[Webhook, ...]:
        """Return the webhooks, oldest first."""
        query = select(webhooks).where(*_of(project)).order_by(webhooks.c.created_at)
        with self._database.reading() as connection:
            return tuple(Webhook(**_told(row)) for row in connection.execute(query).all())

    def remove(self, webhook_id: str, project: str | None) -> None:
        """Remove a webhook, with all that it would still be told.

        Raises:
            NotFound: There is none.
        """
        with self._database.writing() as connection:
            _one(connection, webhook_id, project)
            for table, column in ((webhooks, "id"), (deliveries, "webhook_id")):
                connection.execute(delete(table).where(table.c[column] == webhook_id))
            note("remove webhook", webhook_id)

    def rotate(self, webhook_id: str, project: str | None) -> NewWebhook:
        """Give a webhook another secret; the one before signs as well for a day.

        Raises:
            NotFound: There is none.
        """
        with self._database.writing() as connection:
            old = _one(connection, webhook_id, project).secret
            new = {"secret": new_secret(), "old_secret": old, "old_until": Now() + OVERLAP_SECONDS}
            mine = webhooks.c.id == webhook_id
            connection.execute(update(webhooks).where(mine).values(**new))
            note("rotate webhook", webhook_id)
            return _new(_one(connection, webhook_id, project))

    def test(self, webhook_id: str, project: str | None) -> Delivery:
        """Have a webhook told that this is a test; the delivery shows what came of it.

        Raises:
            NotFound: There is none.
            QuotaExceeded: Too much waits for it already.
        """
        with self._database.writing() as connection:
            _one(connection, webhook_id, project)
            if _is_full(connection, webhook_id):
                raise QuotaExceeded(
                    "Too many deliveries wait for this webhook.", "Try again once it has answered."
                )
            made = _add(connection, webhook_id, Occasion.TEST)
            mine = select(deliveries).where(deliveries.c.id == made)
            return _delivery(connection.execute(mine).one())

    def deliveries(self, webhook_id: str, project: str | None) -> tuple[Delivery, ...]:
        """Return the latest deliveries of a webhook, newest first.

        Raises:
            NotFound: There is none.
        """
        mine = select(deliveries).where(deliveries.c.webhook_id == webhook_id, _KNOWN)
        with self._database.reading() as connection:
            _one(connection, webhook_id, project)
            rows = connection.execute(mine.order_by(deliveries.c.seq.desc()).limit(MOST_TOLD))
            return tuple(map(_delivery, rows.all()))

    def counts(self) -> dict[Standing, int]:
        """Return how many of the deliveries that are kept are in each state."""
        query = select(deliveries.c.state, func.count()).group_by(deliveries.c.state)
        with self._database.reading() as connection:
            found = {row[0]: row[1] for row in connection.execute(query).all()}
        return {each: found.get(each, 0) for each in Standing}

    def _check_room(self, connection: Connection, project: str) -> None:
        query = select(func.count()).where(webhooks.c.project == project)
        if connection.execute(query).scalar_one() >= self._limits.most:
            raise QuotaExceeded(
                f"This project may have at most {plural(self._limits.most, 'webhook')}.",
                "Remove one first, or ask the operator.",
            )


def announce(connection: Connection, job_id: str, occasion: Occasion) -> None:
    """Have the webhooks of a job's project told that it ended, within that transaction."""
    query = select(webhooks.c.id, webhooks.c.events)
    query = query.join(jobs, jobs.c.project == webhooks.c.project).where(jobs.c.id == job_id)
    for row in connection.execute(query).all():
        if occasion in row.events.split():
            _add(connection, row.id, occasion, job_id)


def take(database: Database, hold_seconds: float) -> Parcel | None:
    """Take what is to be sent next, and its webhook for a while; None if nothing is due."""
    with database.reading() as connection:
        if connection.execute(_next(hold_seconds)).first() is None:
            return None
    with database.writing() as connection:
        # One after the other: of two at once both would find the same one.
        lock(connection, "deliveries")
        row = connection.execute(_next(hold_seconds)).first()
        return None if row is None else _parcel(connection, row, hold_seconds)


def settle(
    database: Database,
    parcel: Parcel,
    delays: Sequence[float],
    status: int | None = None,
    error: Trouble | None = None,
) -> Standing:
    """Note what came of an attempt, and let others send to the webhook.

    Args:
        database: Keeps the deliveries.
        parcel: The attempt.
        delays: Seconds before each further attempt.
        status: Of the answer, if there was one.
        error: Why it failed; None if it did not.
    """
    again = () if parcel.body.type is Occasion.TEST else delays[parcel.attempt - 1 :]
    standing = Standing.FAILED if error else Standing.DELIVERED
    standing = Standing.PENDING if error and again else standing
    mine = and_(deliveries.c.id == parcel.id, deliveries.c.attempts == parcel.attempt)
    told = {"state": standing, "status": status, "error": error}
    holds = and_(webhooks.c.id == parcel.webhook, webhooks.c.held_until == parcel.held_until)
    with database.writing() as connection:
        due = Now() + (again[0] if error and again else 0.0)
        connection.execute(update(deliveries).where(mine, _PENDING).values(**told, due_at=due))
        connection.execute(update(webhooks).where(holds).values(held_until=None))
    return standing


def tidy(database: Database) -> None:
    """Give up what is too old, and forget what has been over for long."""
    with database.writing() as connection:
        old = deliveries.c.created_at < Now() - EXPIRES_SECONDS
        over = {"state": Standing.FAILED, "error": Trouble.EXPIRED, "due_at": Now()}
        connection.execute(update(deliveries).where(_PENDING, old).values(**over))
        forgotten = and_(~_PENDING, deliveries.c.due_at < Now() - KEPT_SECONDS)
        connection.execute(delete(deliveries).where(forgotten))


_KNOWN = deliveries.c.event.in_([*Occasion])
"""What another version tells is left to it."""
_PENDING = deliveries.c.state == Standing.PENDING


def _of(project: str | None) -> Collection[ColumnElement[bool]]:
    if project is None:
        return ()
    return (webhooks.c.project.in_([project] if isinstance(project, str) else project),)


def _one(connection: Connection, webhook_id: str, project: str | None) -> Row[Any]:
    query = select(webhooks).where(webhooks.c.id == webhook_id, *_of(project))
    row = connection.execute(query).first()
    if row is None:
        raise NotFound("Webhook not found.", "Check the id.")
    return row


def _told(row: Row[Any]) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in Webhook.model_fields}
    return {**told, "events": [each for each in Occasion if each in row.events.split()]}


def _new(row: Row[Any]) -> NewWebhook:
    return NewWebhook(**_told(row), secret=row.secret)


def _delivery(row: Row[Any]) -> Delivery:
    told = {name: getattr(row, name, None) for name in Delivery.model_fields}
    due = row.due_at if row.state == Standing.PENDING else None
    return Delivery.model_validate({**told, "job": row.job_id, "due_at": due})


def _is_full(connection: Connection, webhook_id: str) -> bool:
    waiting = select(func.count()).where(deliveries.c.webhook_id == webhook_id, _PENDING)
    return bool(connection.execute(waiting).scalar_one() >= MOST_PENDING)


def _add(
    connection: Connection, webhook_id: str, occasion: Occasion, job_id: str | None = None
) -> str:
    """Add a delivery; return its id. One for which there is no room has failed at once."""
    full = _is_full(connection, webhook_id)
    made = f"msg_{secrets.token_hex(12)}"
    values = {
        "id": made,
        "webhook_id": webhook_id,
        "job_id": job_id,
        "event": occasion,
        "state": Standing.FAILED if full else Standing.PENDING,
        "error": Trouble.QUEUE_FULL if full else None,
        "attempts": 0,
    }
    connection.execute(insert(deliveries).values(**values, created_at=Now(), due_at=Now()))
    return made


def _next(hold_seconds: float) -> Select[Any]:
    """Return the query for what is due and whose webhook nobody has."""
    held = webhooks.c.held_until
    free = or_(lapsed(held), ahead(held, hold_seconds))
    valid = case((webhooks.c.old_until > Now(), webhooks.c.old_secret), else_=None)
    young = deliveries.c.created_at > Now() - EXPIRES_SECONDS
    columns = (deliveries, webhooks.c.url, webhooks.c.secret, valid.label("old_secret"))
    of_job = [jobs.c[name] for name in ("workload", "verdict", "summary", "reason", "ended_at")]
    return (
        select(*columns, *of_job)
        .join(webhooks, webhooks.c.id == deliveries.c.webhook_id)
        .outerjoin(jobs, jobs.c.id == deliveries.c.job_id)
        .where(_PENDING, _KNOWN, deliveries.c.due_at <= Now(), young, free)
        .order_by(webhooks.c.tried_at, deliveries.c.seq)
        .limit(1)
    )


def _parcel(connection: Connection, row: Row[Any], hold_seconds: float) -> Parcel:
    until = connection.execute(select(Now())).scalar_one() + hold_seconds
    attempt = row.attempts + 1
    mine, its = deliveries.c.id == row.id, webhooks.c.id == row.webhook_id
    counted = update(deliveries).where(mine).values(attempts=attempt, tried_at=Now())
    connection.execute(counted)
    connection.execute(update(webhooks).where(its).values(held_until=until, tried_at=Now()))
    return Parcel(
        id=row.id,
        webhook=row.webhook_id,
        url=row.url,
        secrets=tuple(filter(None, (row.secret, row.old_secret))),
        attempt=attempt,
        held_until=until,
        body=_body(row),
    )


def _body(row: Row[Any]) -> Notification:
    occasion = Occasion(row.event)
    state = occasion.state
    data = state and EndedJob(
        id=row.job_id,
        workload=row.workload,
        state=state,
        verdict=row.verdict,
        summary=row.summary,
        reason=row.reason,
    )
    return Notification(type=occasion, timestamp=row.ended_at or row.created_at, data=data)
