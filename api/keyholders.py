"""Handing out keys and recognising them, and the sessions that stand for a key in a browser."""

from __future__ import annotations

from collections.abc import Collection

from autotune.api.keys import (
    Key,
    NewKey,
    Scope,
    digest,
    is_session,
    new_key,
    new_session,
    refused,
)
from autotune.api.store import keyring
from autotune.api.store.database import Database

FIRST = "first"
"""Name of the key that is made at the first start."""


class Keyholders:
    """Knows who may come in.

    Args:
        database: Keeps the keys.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hand_out(
        self, name: str, scopes: Collection[Scope], seconds: float | None = None
    ) -> NewKey:
        """Make a key; this is the only time that its secret is known.

        Args:
            name: For people.
            scopes: What it allows.
            seconds: How long it is valid; None for good.
        """
        made = new_key(name, scopes)
        kept = keyring.add_key(self._database, made.key, digest(made.secret), seconds)
        return NewKey(kept, made.secret)

    def first(self) -> NewKey | None:
        """Make a key that may do everything, if there has never been any key."""
        return None if self.all() else self.hand_out(FIRST, list(Scope))

    def recognise(self, secret: str) -> Key:
        """Return the key of a secret: its own, or that of a session.

        Raises:
            KeyRefused: It is unknown, revoked or expired.
        """
        find = keyring.find_key_of_session if is_session(secret) else keyring.find_key
        key = find(self._database, digest(secret))
        if key is None:
            raise refused()
        return key

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
            raise refused()
        key = self.recognise(secret)
        key.require(Scope.READ)
        session = new_session()
        keyring.add_session(self._database, key.id, digest(session), seconds)
        return session

    def sign_out(self, session: str) -> None:
        """End a session."""
        keyring.end_session(self._database, digest(session))

    def all(self) -> tuple[Key, ...]:
        """Return all keys, oldest first, revoked and expired ones too."""
        return keyring.all_keys(self._database)

    def revoke(self, key_id: str) -> None:
        """Make a key invalid from now on.

        Raises:
            NotFound: There is no such key, or it is revoked already.
        """
        keyring.revoke_key(self._database, key_id)
