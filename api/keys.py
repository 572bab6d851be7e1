"""API keys: 256 random bits, shown once; what is kept is their SHA-256.

A fast digest suffices, because a key of 256 random bits cannot be guessed, unlike a password.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from autotune.api.errors import KeyRefused, ScopeMissing
from autotune.value import Value

PREFIX = "autotune_"
"""Lets scanners find a key that was committed by mistake."""
SESSION = f"{PREFIX}session_"
"""Begins the secret of a session, which a browser shows in place of the key."""
_FORM = re.compile(rf"(?:{PREFIX}|{SESSION})[\w-]{{43}}", re.ASCII)
_SESSION_FORM = re.compile(rf"{SESSION}[\w-]{{43}}", re.ASCII)


class Scope(StrEnum):
    """What a key allows."""

    READ = "tunings:read"
    """To look at jobs and what may be asked for."""
    WRITE = "tunings:write"
    """To ask for jobs and cancel them."""
    ADMIN = "admin"
    """To see everybody's jobs, and the metrics; it implies `tunings:read`."""


class Key(Value):
    """A key without its secret."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None

    @property
    def owner(self) -> str | None:
        """Whose jobs it may see; None for everybody's."""
        return None if Scope.ADMIN in self.scopes else self.id

    def require(self, scope: Scope) -> None:
        """Make sure that the key allows something.

        Raises:
            ScopeMissing: It does not.
        """
        implied = scope is Scope.READ and Scope.ADMIN in self.scopes
        if scope not in self.scopes and not implied:
            raise ScopeMissing(f"This key lacks the scope {scope}.", "Ask the operator for one.")


@dataclass(frozen=True)
class NewKey:
    """A key with its secret, which is shown once."""

    key: Key
    secret: str

    def __repr__(self) -> str:
        """Leave the secret out, so that no log shows it."""
        return f"NewKey({self.key!r})"


def new_key(name: str, scopes: Collection[Scope]) -> NewKey:
    """Make up a key; `store.keyring` keeps it."""
    secret = PREFIX + secrets.token_urlsafe(32)
    key = Key(id=secrets.token_hex(8), name=name, scopes=frozenset(scopes))
    return NewKey(key, secret)


def new_session() -> str:
    """Make up the secret of a session."""
    return SESSION + secrets.token_urlsafe(32)


def is_session(secret: str) -> bool:
    """Return whether a secret is that of a session, and not a key."""
    return _SESSION_FORM.fullmatch(secret) is not None


def digest(secret: str) -> str:
    """Return what is kept of a key or of a session.

    Raises:
        KeyRefused: It has the form of neither.
    """
    if not _FORM.fullmatch(secret):
        raise refused()
    return hashlib.sha256(secret.encode()).hexdigest()


def refused() -> KeyRefused:
    """Return the error of a key that is not valid, which does not say why."""
    return KeyRefused("Invalid API key.", "Check it, or ask the operator for a new one.")
