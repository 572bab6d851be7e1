"""What is done to the database of a service: its version, its keys and its workers."""

import json
import pwd
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from autotune.api.identity import Scope
from autotune.api.settings import load_settings
from autotune.api.store import workers
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.api.values import WorkerInfo
from autotune.wire.errors import KeyRefused
from tests.engines.fake import FAKE_MACHINE

from .conftest import run

INFO = WorkerInfo(
    worker="w1",
    devices="bench",
    host="h",
    workloads={"digits": "c0de"},
    machine=FAKE_MACHINE,
    labels=("fast",),
)


@pytest.fixture
def service() -> Iterator[Database]:
    """The database of a service that was started in the working folder before, with a worker."""
    with closing(open_database(load_settings())) as database:
        workers.seen(database, INFO)
        yield database


def test_a_key_has_the_scopes_and_the_days_that_were_asked_for(service: Database) -> None:
    done = run("keys", "create", "ops", "--scope", "admin", "--days", "2")
    key = Keyring(service).recognise(done.stdout.strip())
    assert key.scopes == {Scope.ADMIN}
    assert key.expires_at - key.created_at == pytest.approx(2 * 86400, abs=5)
    made = json.loads(run("keys", "create", "ci", "--json").stdout)
    assert Keyring(service).recognise(made["secret"]).id == made["id"]


def test_a_key_is_made_listed_and_revoked(service: Database) -> None:
    """Stdout holds the secret alone, for a file; no list has it, and in the end it is refused."""
    done = run("keys", "create", "ci")
    secret = done.stdout.strip()
    key = Keyring(service).recognise(secret)
    assert (key.name, key.scopes) == ("ci", {Scope.READ, Scope.WRITE})
    assert key.id in done.stderr
    listed = run("keys", "list").stdout
    assert ("ci" in listed, "for good" in listed, secret in listed) == (True, True, False)
    assert run("keys", "revoke", key.id).exit_code == 0
    with pytest.raises(KeyRefused):
        Keyring(service).recognise(secret)
    assert "revoked" in run("keys", "list").stdout
    [same] = json.loads(run("keys", "list", "--json").stdout)
    assert (same["id"], same["revoked_at"] is None) == (key.id, False)
    assert secret not in str(same)
    assert "nothing to do" in run("database").stdout
    assert run("database", "--migrate").exit_code == 0


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("keys", "create", "ci", "--scope", "everything"), 2, "Unknown scope"),
        (("keys", "create", "a\nb"), 2, "printable"),
        (("keys", "revoke", "nosuch"), 3, "Error:"),
        (("keys", "list", "--settings", "nosuch.toml"), 2, "nosuch.toml"),
        (("workers", "drain", "w2"), 3, "Worker not found."),
    ],
)
def test_a_wrong_call_is_told(words: tuple[str, ...], code: int, told: str) -> None:
    """Unknown scopes, ids, names and files end with a message and no traceback."""
    done = run(*words)
    assert done.exit_code == code
    assert done.stderr.startswith("Error: ")
    assert told in done.stderr


def test_the_settings_say_where_the_keys_are(folder: Path) -> None:
    (folder / "service.toml").write_text('data = "elsewhere"\n')
    settings = load_settings(Path("service.toml"))
    open_database(settings).close()
    assert run("keys", "create", "ci", "--settings", "service.toml").exit_code == 0
    assert [each.name for each in Keyring(Database(settings.database_url)).all()] == ["ci"]


@pytest.mark.parametrize(
    "words", ["keys create ci", "keys list", "keys revoke x", "workers list", "workers drain x"]
)
def test_a_folder_without_a_service_is_told(folder: Path, words: str) -> None:
    """Nothing is made there, because nobody would look for it."""
    done = run(*words.split())
    assert done.exit_code == 2
    assert str(folder / "autotune-service") in done.stderr
    assert "autotune serve" in done.stderr
    assert not (folder / "autotune-service").exists()


def test_the_tables_are_left_as_they_are(folder: Path) -> None:
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
def test_an_account_without_a_name_makes_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user no file knows."""
    nameless = KeyError("getpwuid(): uid not found: 10001")
    monkeypatch.setattr(pwd, "getpwuid", Mock(side_effect=nameless))
    done = run("keys", "create", "ci")
    assert done.exit_code == 0, done.stderr


def test_workers_are_listed_drained_and_go_on(service: Database) -> None:
    """With machine, labels and workloads; each by its name."""

    def is_draining() -> bool:
        with service.reading() as connection:
            return workers.there(connection)[0].draining

    text = run("workers", "list").stdout
    for each in ("w1", "waits", "2 CPU cores", "fast", "digits"):
        assert each in text
    assert [each["name"] for each in json.loads(run("workers", "list", "--json").stdout)] == ["w1"]
    done = run("workers", "drain", "w1")
    assert (done.exit_code, is_draining()) == (0, True)
    assert "Worker w1 takes no further job." in done.stderr
    assert run("workers", "resume", "w1").exit_code == 0
    assert not is_draining()


def test_a_file_that_is_no_database_is_told_as_serve_tells_it(folder: Path) -> None:
    data = folder / "autotune-service"
    data.mkdir()
    (data / "service.db").write_bytes(b"garbage" * 1000)
    done = run("database")
    assert done.exit_code == 3
    assert "cannot be opened: file is not a database" in done.stderr
