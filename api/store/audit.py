"""Who changed what, and from where: kept with the change itself, all or nothing."""

from __future__ import annotations

from sqlalchemy import Connection, insert

from autotune.api.log import known
from autotune.api.store.database import Now
from autotune.api.store.tables import audit

_ADD = insert(audit).values(at=Now())


def note(connection: Connection, action: str, target: str, actor: str | None = None) -> None:
    """Note a change within its transaction.

    Args:
        connection: The transaction.
        action: Such as `cancel`.
        target: The id of what was changed.
        actor: Who did it, where that is not the key of the request at hand.
    """
    where = known()
    values = {
        "actor": actor or where.get("key", "-"),
        "action": action,
        "target": target,
        "client": where.get("client"),
        "request": where.get("request"),
    }
    connection.execute(_ADD, values)
