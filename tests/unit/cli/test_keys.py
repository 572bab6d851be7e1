"""Making, listing and revoking keys."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autotune.api.errors import KeyRefused
from autotune.api.identity import Scope
from autotune.api.settings import load_settings
from autotune.api.store.auth import Key, Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.cli import database

from .conftest import Run


@pytest.fixture
def service() -> None:
    """One that was started in the working folder before."""
    open_database(load_settings()).close()


def recognised(secret: str) -> Key:
    """Return the key of a secret in the service of the working folder."""
    return Keyring(Database(load_settings().database_url)).recognise(secret)


@pytest.mark.usefixtures("service")
def test_a_key_has_the_scopes_and_the_days_that_were_asked_for(run: Run) -> None:
    """Both are kept."""
    done = run("keys", "create", "ops", "--scope", "admin", "--days", "2")
    key = recognised(done.stdout.strip())
    assert key.scopes == {Scope.ADMIN}
    assert key.expires_at - key.created_at == pytest.approx(2 * 86400, abs=5)


@pytest.mark.usefixtures("service")
def test_a_key_is_made_listed_and_revoked(run: Run) -> None:
    """Stdout holds the secret alone, for a file; no list has it, and in the end it is refused."""
    done = run("keys", "create", "ci")
    secret, key = done.stdout.strip(), recognised(done.stdout.strip())
    assert (key.name, key.scopes) == ("ci", {Scope.READ, Scope.WRITE})
    assert key.id in done.stderr
    listed = run("keys", "list").stdout
    assert ("ci" in listed, "for good" in listed, secret in listed) == (True, True, False)
    assert run("keys", "revoke", key.id).exit_code == 0
    with pytest.raises(KeyRefused):
        recognised(secret)
    assert "revoked" in run("keys", "list").stdout
    assert "nothing to do" in run("database").stdout
    assert run("database", "--migrate").exit_code == 0


@pytest.mark.usefixtures("service")
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
    settings = load_settings(Path("service.toml"))
    open_database(settings).close()
    assert run("keys", "create", "ci", "--settings", "service.toml").exit_code == 0
    assert [each.name for each in Keyring(Database(settings.database_url)).all()] == ["ci"]


@pytest.mark.parametrize(
    "words", ["keys create ci", "keys list", "keys revoke x", "workers list", "workers drain x"]
)
def test_a_folder_without_a_service_is_told(run: Run, folder: Path, words: str) -> None:
    """Nothing is made there, because nobody would look for it."""
    done = run(*words.split())
    assert done.exit_code == 2
    assert str(folder / "autotune-service") in done.stderr
    assert "autotune serve" in done.stderr
    assert not (folder / "autotune-service").exists()


def test_the_tables_are_left_as_they_are(run: Run, folder: Path) -> None:
    """Changing them is for a service that starts."""
    path = folder / "autotune-service" / "service.db"
    path.parent.mkdir()
    path.touch()
    done = run("keys", "list")
    assert done.exit_code == 2
    assert "autotune database" in done.stderr
    assert "autotune serve" in run("database").stdout
    assert run("database", "--migrate").exit_code == 3
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


@pytest.mark.usefixtures("service")
def test_an_account_without_a_name_makes_keys(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user no file knows; its number stands for it."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    monkeypatch.setattr(database, "getuser", nameless)
    done = run("keys", "create", "ci")
    assert done.exit_code == 0, done.stderr
    assert database.account() == str(os.getuid())
