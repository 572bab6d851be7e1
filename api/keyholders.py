"""Handing out keys and recognising them."""

from __future__ import annotations

from collections.abc import Collection

from autotune.api.keys import Key, NewKey, Scope, digest, new_key, refused
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
        """Return the key of a secret.

        Raises:
            KeyRefused: It is unknown, revoked or expired.
        """
        key = keyring.find_key(self._database, digest(secret))
        if key is None:
            raise refused()
        return key

    def all(self) -> tuple[Key, ...]:
        """Return all keys, oldest first, revoked and expired ones too."""
        return keyring.all_keys(self._database)

    def revoke(self, key_id: str) -> None:
        """Make a key invalid from now on.

        Raises:
            NotFound: There is no such key, or it is revoked already.
        """
        keyring.revoke_key(self._database, key_id)
