"""Opening the database, and what happens when it does not answer."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from autotune.api.settings import load_settings
from autotune.api.store import database as store
from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.wire.errors import DatabaseUnavailable, SettingsError


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:secret@host/db",
        "nonsense",
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file:x?mode=memory&cache=shared&uri=true",
    ],
)
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Database(url)
    assert "secret" not in f"{raised.value} {raised.value.__cause__}"


def test_what_raises_is_not_kept(database: Database) -> None:
    def fail() -> None:
        with database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO totals (name, value) VALUES ('x', 1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT * FROM totals").all() == []


def test_sqlite_is_set_up_for_crashes_and_readers(database: Database) -> None:
    with database.writing(), database.reading() as connection:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        found = [connection.exec_driver_sql(f"PRAGMA {each}").scalar() for each in pragmas]
    assert found == ["wal", 2, 1]


def test_writers_that_wait_keep_no_reader_waiting(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "TURN_SECONDS", 0.01)
    refused = []

    def write() -> None:
        try:
            with database.writing():
                pass
        except DatabaseUnavailable as exc:
            refused.append(exc.cause)

    writers = [Thread(target=write, daemon=True) for _ in range(store.MOST_WRITERS + 5)]
    with closing(sqlite3.connect(tmp_path / "service.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for each in writers:
            each.start()
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM jobs").scalar() == 0
        while sum(each.is_alive() for each in writers) > store.MOST_WRITERS:
            time.sleep(0.01)
        assert refused == ["Too many changes wait for the database."] * 5
        assert sum(each.is_alive() for each in writers) == store.MOST_WRITERS


def test_whoever_starts_the_service_is_told_why_it_cannot(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none' / 'service.db'}"
    settings = load_settings(data=tmp_path, database=url)
    with pytest.raises(DatabaseUnavailable, match="cannot be opened: unable to open") as raised:
        open_database(settings)
    assert "none" not in str(raised.value)


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    """A version that did not care, or a generous mask, has left it so in a folder of others."""
    tmp_path.chmod(0o755)
    settings = load_settings(data=tmp_path)
    database = open_database(settings)
    with database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO totals (name, value) VALUES ('x', 1)")
    made = [tmp_path / f"service.db{ending}" for ending in ("", "-wal", "-shm")]
    for each in made:
        each.chmod(0o644)
    open_database(settings).close()
    assert [each.stat().st_mode & 0o007 for each in made] == [0, 0, 0]
    database.close()


def test_a_folder_of_jobs_without_their_database_gets_no_new_one(tmp_path: Path) -> None:
    """A new one would hand out a new first key, and know nothing of the jobs."""
    (tmp_path / "jobs" / "a").mkdir(parents=True)
    with pytest.raises(SettingsError, match="holds jobs, but their database") as raised:
        open_database(load_settings(data=tmp_path))
    assert "Put it back" in raised.value.next_step
    assert [each.name for each in tmp_path.iterdir()] == ["jobs"]


def test_a_reader_waits_a_second_at_most(tmp_path: Path) -> None:
    """While another process holds the whole file, as one that converts it does."""
    open_database(load_settings(data=tmp_path)).close()
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    with closing(sqlite3.connect(tmp_path / "service.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable), database.reading():
            pytest.fail("it was read")
        assert time.monotonic() - began < 8
    database.close()
