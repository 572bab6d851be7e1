"""API keys, and the sessions that stand for a key in a browser.

Both are 256 random bits, shown once; what is kept is their SHA-256. A fast digest suffices,
because so many random bits cannot be guessed, unlike a password.
"""

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, delete, func, insert, select, update

from autotune.api.identity import Caller, Scope
from autotune.api.log import note
from autotune.api.store.database import Database, Now
from autotune.api.store.tables import keys, sessions
from autotune.wire.errors import KeyRefused, NotFound

PREFIX = "autotune_"
"""Lets scanners find a key that was committed by mistake."""
SESSION = f"{PREFIX}session_"
"""Beginning of a session's secret, which a browser shows in place of the key."""
FIRST = "first"
"""Name of the key that is made at the first start, and of its project."""
_FORM = re.compile(rf"({PREFIX}|{SESSION})[\w-]{{43}}", re.ASCII)
MOST_SESSIONS = 20
"""Sessions of one key; the oldest end."""


class Key(Caller):
    """A key without its secret."""

    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None


@dataclass(frozen=True)
class NewKey:
    """A key with its secret, which is shown once."""

    key: Key
    secret: str = field(repr=False)


class Keyring:
    """Hands out keys and recognises them. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hand_out(
        self, name: str, scopes: Collection[Scope], project: str, seconds: float | None = None
    ) -> NewKey:
        """Make a key; this is the only time that its secret is known."""
        secret, key_id = PREFIX + secrets.token_urlsafe(32), secrets.token_hex(8)
        row = insert(keys).values(
            id=key_id,
            name=name,
            project=project,
            scopes=" ".join(sorted(scopes)),
            digest=digest(secret),
            created_at=Now(),
            expires_at=None if seconds is None else Now() + seconds,
        )
        with self._database.writing() as connection:
            made = connection.execute(row.returning(*_COLUMNS)).mappings().one()
        note("create key", key_id, project=project)
        return NewKey(_key(made), secret)

    def first(self, *, code: bool = False) -> NewKey | None:
        """Make the first key, unless there is one; `code` lets it upload code."""
        scopes = [each for each in Scope if code or each is not Scope.CODE]
        return None if self.all() else self.hand_out(FIRST, scopes, FIRST)

    def recognise(self, secret: str) -> Key:
        query = _valid_key(keys.c.digest == digest(secret))
        if is_session(secret):
            mine = (sessions.c.digest == digest(secret), sessions.c.expires_at > Now())
            query = _valid_key(keys.c.id == sessions.c.key_id, *mine)
        with self._database.reading() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise _refused()
        return _key(row)

    def sign_in(self, secret: str, seconds: float) -> str:
        """Return the secret of a new session of a key; it ends with the key, if not before."""
        if is_session(secret):
            raise _refused()
        key = self.recognise(secret)
        key.require(Scope.READ)
        session = SESSION + secrets.token_urlsafe(32)
        row = {"digest": digest(session), "key_id": key.id, "expires_at": Now() + seconds}
        mine = select(sessions.c.digest).where(sessions.c.key_id == key.id)
        oldest = mine.order_by(sessions.c.expires_at.desc()).offset(MOST_SESSIONS)
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires_at <= Now()))
            connection.execute(insert(sessions).values(**row))
            old = connection.execute(oldest).scalars().all()
            connection.execute(delete(sessions).where(sessions.c.digest.in_(old)))
        note("sign in", key.id, key=key.id)
        return session

    def sign_out(self, session: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == digest(session)))

    def all(self) -> tuple[Key, ...]:
        query = select(*_COLUMNS).order_by(keys.c.created_at)
        with self._database.reading() as connection:
            return tuple(map(_key, connection.execute(query).mappings().all()))

    def revoke(self, key_id: str) -> None:
        since = func.coalesce(keys.c.revoked_at, Now())
        mine = update(keys).where(keys.c.id == key_id).values(revoked_at=since)
        with self._database.writing() as connection:
            if not connection.execute(mine).rowcount:
                raise NotFound("API key not found.", "Check the id.")
        note("revoke key", key_id)


def is_session(secret: str) -> bool:
    found = _FORM.fullmatch(secret)
    return found is not None and found[1] == SESSION


def digest(secret: str) -> str:
    if not _FORM.fullmatch(secret):
        raise _refused()
    return hashlib.sha256(secret.encode()).hexdigest()


_COLUMNS = [keys.c[name] for name in Key.model_fields if name in keys.c]


def _refused() -> KeyRefused:
    """Return the error of an invalid key, which does not disclose why."""
    return KeyRefused("Invalid API key.", "Check it, or ask the operator for a new one.")


def _valid_key(*conditions: ColumnElement[bool]) -> Select[Any]:
    valid = func.coalesce(keys.c.expires_at > Now(), True)
    return select(*_COLUMNS).where(*conditions, keys.c.revoked_at.is_(None), valid)


def _key(row: RowMapping) -> Key:
    return Key.model_validate({**row, "scopes": row["scopes"].split()})
