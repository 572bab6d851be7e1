"""API keys, and the sessions that stand for a key or a person in a browser.

Both are 256 random bits, shown once; what is kept is their SHA-256. A fast digest suffices,
because so many random bits cannot be guessed, unlike a password.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from autotune.api.errors import KeyRefused, NotFound, UnreadableRecord
from autotune.api.records import read, written
from autotune.api.roles import WITHIN, Caller, Scope, greater
from autotune.api.store.audit import note
from autotune.api.store.database import Database, Now, insert_new
from autotune.api.store.members import copy_roles, roles_of
from autotune.api.store.tables import keys, person_sessions, sessions

PREFIX = "autotune_"
"""Lets scanners find a key that was committed by mistake."""
SESSION = f"{PREFIX}session_"
"""Begins the secret of a session, which a browser shows in place of the key."""
FIRST = "first"
"""Name of the key that is made at the first start."""
_FORM = re.compile(rf"(?:{PREFIX}|{SESSION})[\w-]{{43}}", re.ASCII)
_SESSION_FORM = re.compile(rf"{SESSION}[\w-]{{43}}", re.ASCII)


MOST_SESSIONS = 20
"""Of one key or person; the oldest end."""
REPLAY_SECONDS = 3600
"""A sign-in at a provider is remembered for so long after its session has ended."""


class Key(Caller):
    """A key without its secret."""

    project: str = Field(default_factory=lambda data: data["id"])
    """Whose its jobs are; other keys of the same project see them, and may cancel them."""
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None


@dataclass(frozen=True)
class NewKey:
    """A key with its secret, which is shown once."""

    key: Key
    secret: str

    def __repr__(self) -> str:
        """Leave the secret out, so that no log shows it."""
        return f"NewKey({self.key!r})"


class Keyring:
    """Hands out keys and recognises them. Threads may share it.

    Args:
        database: Keeps their digests, never themselves.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hand_out(
        self,
        name: str,
        scopes: Collection[Scope],
        seconds: float | None = None,
        project: str | None = None,
    ) -> NewKey:
        """Make a key; this is the only time that its secret is known.

        Args:
            name: For people.
            scopes: What it allows.
            seconds: How long it is valid; None for good.
            project: Whose jobs it may see, and whose its jobs are; None for its own alone.
        """
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
            connection.execute(row)
            note(connection, "create key", key_id)
            query = select(*_COLUMNS).where(keys.c.id == key_id)
            return NewKey(_key(connection.execute(query).mappings().one()), secret)

    def first(self) -> NewKey | None:
        """Make a key that may do everything, if there has never been any key."""
        return None if self.all() else self.hand_out(FIRST, list(Scope), project=FIRST)

    def recognise(self, secret: str) -> Caller:
        """Return whose a secret is: that of a key, or of a session.

        Raises:
            KeyRefused: It is unknown, revoked or expired.
        """
        of_session = is_session(secret)
        query = _valid_key(keys.c.digest == digest(secret))
        if of_session:
            mine = (sessions.c.digest == digest(secret), sessions.c.expires_at > Now())
            query = _valid_key(keys.c.id == sessions.c.key_id, *mine)
        with self._database.reading() as connection:
            row = connection.execute(query).mappings().first()
            if row is None and not of_session:
                raise _refused()
            found = _person(connection, secret) if row is None else _key(row)
            return _with_roles(connection, found)

    def known(self, person: Caller) -> Caller:
        """Return a person with the roles that projects have given them, too."""
        with self._database.reading() as connection:
            return _with_roles(connection, person)

    def sign_in(self, secret: str, seconds: float) -> str:
        """Return the secret of a new session of a key; it ends with the key, if not before.

        Args:
            secret: The key's.
            seconds: How long the session lasts.

        Raises:
            KeyRefused: The key is not valid.
            ScopeMissing: It may not look at anything.
        """
        if is_session(secret):
            raise _refused()
        key = self.recognise(secret)
        key.require(Scope.READ)
        session = SESSION + secrets.token_urlsafe(32)
        row = {"digest": digest(session), "key_id": key.id, "expires_at": Now() + seconds}
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires_at <= Now()))
            connection.execute(insert(sessions).values(**row))
            _end_oldest(connection, sessions, sessions.c.key_id == key.id)
            note(connection, "sign in", key.id, actor=key.id)
        return session

    def sign_in_person(self, person: Caller, state: str, seconds: float) -> str:
        """Return the secret of a new session of a person whom a provider has vouched for.

        Args:
            person: Who it is.
            state: What the sign-in was begun with.
            seconds: How long the session lasts.

        Raises:
            KeyRefused: A session was begun with that before.
            ScopeMissing: The person belongs to no project.
        """
        session = SESSION + secrets.token_urlsafe(32)
        row = {"digest": digest(session), "state": hashlib.sha256(state.encode()).hexdigest()}
        row |= {"person": person.id, "caller": written(person)}
        old = person_sessions.c.expires_at <= Now() - REPLAY_SECONDS
        with self._database.writing() as connection:
            _with_roles(connection, person).require(Scope.READ)
            connection.execute(delete(person_sessions).where(old))
            added = insert_new(connection, person_sessions, **row, expires_at=Now() + seconds)
            if not connection.execute(added.returning(person_sessions.c.digest)).first():
                raise _refused()
            _end_oldest(connection, person_sessions, person_sessions.c.person == person.id)
            note(connection, "sign in", person.id, actor=person.id)
        return session

    def sign_out(self, session: str) -> None:
        """End a session."""
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == digest(session)))
            mine = update(person_sessions).where(person_sessions.c.digest == digest(session))
            connection.execute(mine.values(expires_at=Now()))

    def end_sessions(self, person: str) -> int:
        """End all sessions of a person, and return how many there were."""
        live = (person_sessions.c.person == person, person_sessions.c.expires_at > Now())
        with self._database.writing() as connection:
            note(connection, "end sessions", person)
            ended = update(person_sessions).where(*live).values(expires_at=Now())
            return connection.execute(ended).rowcount

    def all(self) -> tuple[Key, ...]:
        """Return all keys, oldest first, revoked and expired ones too."""
        with self._database.reading() as connection:
            rows = connection.execute(select(*_COLUMNS).order_by(keys.c.created_at)).mappings()
            return tuple(map(_key, rows.all()))

    def rotate(self, key_id: str, overlap_seconds: float) -> NewKey:
        """Make a key that may do what another one may, in its project, and let that one end.

        Args:
            key_id: The key that is replaced.
            overlap_seconds: How long both are valid, so that the new one can be handed on.

        Raises:
            NotFound: There is no such key, or it is revoked or expired.
        """
        with self._database.reading() as connection:
            row = connection.execute(_valid_key(keys.c.id == key_id)).mappings().first()
        if row is None:
            raise _no_key()
        old = _key(row)
        made = self.hand_out(old.name, old.scopes, _validity(old), old.project)
        end = Now() + overlap_seconds
        sooner = or_(keys.c.expires_at.is_(None), keys.c.expires_at > end)
        with self._database.writing() as connection:
            mine = update(keys).where(keys.c.id == key_id, sooner)
            connection.execute(mine.values(expires_at=end))
            copy_roles(connection, key_id, made.key.id)
            note(connection, "rotate key", key_id)
        return made

    def of_project(self, project: str) -> tuple[Key, ...]:
        """Return the keys that may do something in a project and nowhere else, oldest first."""
        own = (each for each in self.all() if each.project == project)
        return tuple(each for each in own if each.scopes <= WITHIN)

    def revoke(self, key_id: str, project: str | None = None) -> None:
        """Make a key invalid from now on.

        Args:
            key_id: The key.
            project: Only if it is this one's and nobody else's.

        Raises:
            NotFound: There is no such key, or it is revoked already.
        """
        if project is not None and key_id not in {each.id for each in self.of_project(project)}:
            raise _no_key()
        mine = (keys.c.id == key_id, keys.c.revoked_at.is_(None))
        with self._database.writing() as connection:
            if not connection.execute(update(keys).where(*mine).values(revoked_at=Now())).rowcount:
                raise _no_key()
            note(connection, "revoke key", key_id)


def _no_key() -> NotFound:
    return NotFound("API key not found.", "Check the id.")


def _validity(key: Key) -> float | None:
    """Return for how many seconds a key was made."""
    return None if key.expires_at is None else key.expires_at - key.created_at


def _end_oldest(connection: Connection, table: Table, mine: ColumnElement[bool]) -> None:
    """End the sessions of somebody that are too many."""
    live = select(table.c.digest).where(mine, table.c.expires_at > Now())
    old = live.order_by(table.c.expires_at.desc()).offset(MOST_SESSIONS)
    found = connection.execute(old).scalars().all()
    connection.execute(delete(table).where(table.c.digest.in_(found)))


def _with_roles(connection: Connection, caller: Caller) -> Caller:
    """Return somebody with the roles that projects have given them, too."""
    roles = greater(caller.roles, roles_of(connection, caller.id))
    return caller.model_copy(update={"roles": roles})


def _person(connection: Connection, session: str) -> Caller:
    """Return whose session this is.

    Raises:
        KeyRefused: Nobody's, or it has ended.
    """
    table = person_sessions
    mine = (table.c.digest == digest(session), table.c.expires_at > Now())
    found = connection.execute(select(table.c.caller).where(*mine)).scalar()
    if found is None:
        raise _refused()
    try:
        return read(Caller, found)
    except UnreadableRecord as exc:
        raise _refused() from exc


def is_session(secret: str) -> bool:
    """Return whether a secret is that of a session, and not a key."""
    return _SESSION_FORM.fullmatch(secret) is not None


def digest(secret: str) -> str:
    """Return what is kept of a key or of a session.

    Raises:
        KeyRefused: It has the form of neither.
    """
    if not _FORM.fullmatch(secret):
        raise _refused()
    return hashlib.sha256(secret.encode()).hexdigest()


_COLUMNS = [keys.c[name] for name in Key.model_fields if name in keys.c]


def _refused() -> KeyRefused:
    """Return the error of a key that is not valid, which does not say why."""
    return KeyRefused("Invalid API key.", "Check it, or ask the operator for a new one.")


def _valid_key(*conditions: ColumnElement[bool]) -> Select[Any]:
    valid = func.coalesce(keys.c.expires_at > Now(), True)
    return select(*_COLUMNS).where(*conditions, keys.c.revoked_at.is_(None), valid)


def _key(row: RowMapping) -> Key:
    scopes = frozenset(Scope(each) for each in row["scopes"].split())
    project = row["project"] or row["id"]
    return Key.model_validate({**row, "scopes": scopes, "project": project})
