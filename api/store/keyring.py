"""API keys and sessions in the database: their digests, never themselves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, delete, func, insert, select, update

from autotune.api.errors import NotFound
from autotune.api.keys import Key, Scope
from autotune.api.store.clock import Now
from autotune.api.store.database import Database
from autotune.api.tables import keys, sessions

_COLUMNS = [keys.c[name] for name in Key.model_fields]


def add_key(database: Database, key: Key, digest: str, seconds: float | None) -> Key:
    """Keep a key for some time, or for good."""
    until = None if seconds is None else Now() + seconds
    scopes = " ".join(sorted(key.scopes))
    row = insert(keys).values(
        id=key.id, name=key.name, scopes=scopes, digest=digest, created_at=Now(), expires_at=until
    )
    with database.writing() as connection:
        connection.execute(row)
        query = select(*_COLUMNS).where(keys.c.id == key.id)
        return _key(connection.execute(query).mappings().one())


def find_key(database: Database, digest: str) -> Key | None:
    """Return the valid key of a digest, if there is one."""
    return _found(database, _valid_key(keys.c.digest == digest))


def find_key_of_session(database: Database, digest: str) -> Key | None:
    """Return the valid key of a session that lasts, if there is one."""
    mine = (sessions.c.digest == digest, sessions.c.expires_at > Now())
    return _found(database, _valid_key(keys.c.id == sessions.c.key_id, *mine))


def add_session(database: Database, key_id: str, digest: str, seconds: float) -> None:
    """Keep a session for some time, and forget those that are over."""
    row = {"digest": digest, "key_id": key_id, "expires_at": Now() + seconds}
    with database.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.expires_at <= Now()))
        connection.execute(insert(sessions).values(**row))


def end_session(database: Database, digest: str) -> None:
    """Forget a session, if it is there."""
    with database.writing() as connection:
        connection.execute(delete(sessions).where(sessions.c.digest == digest))


def all_keys(database: Database) -> tuple[Key, ...]:
    """Return all keys, oldest first, revoked and expired ones too."""
    with database.reading() as connection:
        rows = connection.execute(select(*_COLUMNS).order_by(keys.c.created_at)).mappings()
        return tuple(_key(row) for row in rows)


def revoke_key(database: Database, key_id: str) -> None:
    """Make a key invalid from now on.

    Raises:
        NotFound: There is no such key, or it is revoked already.
    """
    mine = (keys.c.id == key_id, keys.c.revoked_at.is_(None))
    with database.writing() as connection:
        if not connection.execute(update(keys).where(*mine).values(revoked_at=Now())).rowcount:
            raise NotFound("API key not found.", "Check the id.")


def _valid_key(*conditions: ColumnElement[bool]) -> Select[Any]:
    valid = func.coalesce(keys.c.expires_at > Now(), True)
    return select(*_COLUMNS).where(*conditions, keys.c.revoked_at.is_(None), valid)


def _found(database: Database, query: Select[Any]) -> Key | None:
    with database.reading() as connection:
        row = connection.execute(query).mappings().first()
    return _key(row) if row else None


def _key(row: RowMapping) -> Key:
    scopes = frozenset(Scope(each) for each in row["scopes"].split())
    return Key.model_validate({**row, "scopes": scopes})
