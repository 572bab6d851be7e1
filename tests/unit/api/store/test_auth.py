"""API keys."""

from __future__ import annotations

import pytest

from autotune.api.errors import KeyRefused, NotFound, ScopeMissing
from autotune.api.store.auth import Keyring, Scope, digest
from autotune.api.store.database import Database


@pytest.fixture
def holders(database: Database) -> Keyring:
    return Keyring(database)


def test_a_key_is_recognised(holders: Keyring) -> None:
    """Whoever has the secret has the key's scopes."""
    made = holders.hand_out("ci", [Scope.READ])
    assert holders.recognise(made.secret) == made.key
    assert made.key.owner == made.key.id


def test_the_secret_is_kept_nowhere(holders: Keyring, database: Database) -> None:
    """The database holds a digest, and no text of the program shows the secret."""
    made = holders.hand_out("ci", [Scope.READ])
    with database.reading() as connection:
        rows = str(connection.exec_driver_sql("SELECT * FROM keys").all())
    assert made.secret not in rows + repr(made) + repr(holders.all())
    assert digest(made.secret) in rows
    assert len(made.secret) >= 43 + len("autotune_")


@pytest.mark.parametrize("wrong", ["", "autotune_", "autotune_" + "x" * 43, "é" * 52, "x" * 10_000])
def test_other_secrets_are_refused(holders: Keyring, wrong: str) -> None:
    """Unknown and malformed keys are refused with the same words."""
    with pytest.raises(KeyRefused, match="Invalid API key"):
        holders.recognise(wrong)


def test_expired_and_revoked_keys_are_refused(holders: Keyring) -> None:
    """A key ends by its time or by the operator's word."""
    expired = holders.hand_out("old", [Scope.READ], seconds=-1)
    revoked = holders.hand_out("lost", [Scope.READ])
    holders.revoke(revoked.key.id)
    for each in (expired, revoked):
        with pytest.raises(KeyRefused):
            holders.recognise(each.secret)
    with pytest.raises(NotFound):
        holders.revoke(revoked.key.id)


def test_the_first_key_is_made_once(holders: Keyring) -> None:
    """A service without keys makes one that may do everything, and never again."""
    first = holders.first()
    assert first is not None
    assert first.key.scopes == set(Scope)
    assert first.key.owner is None
    holders.revoke(first.key.id)
    assert holders.first() is None


def test_a_missing_scope_is_named(holders: Keyring) -> None:
    """The error says what the key lacks."""
    made = holders.hand_out("ci", [Scope.READ])
    made.key.require(Scope.READ)
    with pytest.raises(ScopeMissing, match="tunings:write"):
        made.key.require(Scope.WRITE)


def test_an_administrator_may_look_and_not_ask(holders: Keyring) -> None:
    """Seeing everybody's jobs includes one's own; changing them is another matter."""
    key = holders.hand_out("ops", [Scope.ADMIN]).key
    key.require(Scope.READ)
    with pytest.raises(ScopeMissing):
        key.require(Scope.WRITE)
