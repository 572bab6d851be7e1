"""Making, listing and revoking keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from autotune.api.errors import KeyRefused
from autotune.api.keyholders import Keyholders
from autotune.api.keys import Key, Scope
from autotune.api.settings import load_settings
from autotune.api.store.database import Database

Run = Callable[..., Result]


def recognised(secret: str) -> Key:
    """Return the key of a secret in the service of the working folder."""
    return Keyholders(Database(load_settings().database_url)).recognise(secret)


def test_a_key_is_printed_once_and_alone(run: Run) -> None:
    """Stdout holds the secret and nothing else, so that it can go into a file."""
    done = run("keys", "create", "ci")
    assert done.exit_code == 0, done.stderr
    key = recognised(done.stdout.strip())
    assert key.name == "ci"
    assert key.scopes == {Scope.READ, Scope.WRITE}
    assert key.id in done.stderr


def test_a_key_has_the_scopes_and_the_days_that_were_asked_for(run: Run) -> None:
    """Both are kept."""
    done = run("keys", "create", "ops", "--scope", "admin", "--days", "2")
    key = recognised(done.stdout.strip())
    assert key.scopes == {Scope.ADMIN}
    assert key.expires_at is not None
    assert key.expires_at - key.created_at == pytest.approx(2 * 86400, abs=5)


def test_keys_are_listed_without_their_secrets(run: Run) -> None:
    """Name, scopes and end are shown."""
    secret = run("keys", "create", "ci").stdout.strip()
    text = run("keys", "list").stdout
    assert "ci" in text
    assert "for good" in text
    assert secret not in text


def test_a_key_is_revoked(run: Run) -> None:
    """It is not recognised any more, and the list says so."""
    secret = run("keys", "create", "ci").stdout.strip()
    key = recognised(secret)
    assert run("keys", "revoke", key.id).exit_code == 0
    with pytest.raises(KeyRefused):
        recognised(secret)
    assert "revoked" in run("keys", "list").stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("create", "ci", "--scope", "everything"), 2),
        (("create", "a\nb"), 2),
        (("revoke", "nosuch"), 3),
        (("list", "--settings", "nosuch.toml"), 2),
    ],
)
def test_a_wrong_call_is_told(run: Run, words: tuple[str, ...], code: int) -> None:
    """Unknown scopes, ids and files end with a message and no traceback."""
    done = run("keys", *words)
    assert done.exit_code == code
    assert "Error:" in done.stderr


def test_the_settings_say_where_the_keys_are(run: Run, folder: Path) -> None:
    """Another file may name another place."""
    (folder / "service.toml").write_text('data = "elsewhere"\n')
    assert run("keys", "create", "ci", "--settings", "service.toml").exit_code == 0
    assert (folder / "elsewhere" / "service.db").exists()
