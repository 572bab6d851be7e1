"""Opening the database, and what happens when it does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.api.errors import DatabaseUnavailable, SettingsError
from autotune.api.store.database import Database


@pytest.mark.parametrize("url", ["mysql://me:secret@host/db", "nonsense", ""])
def test_other_databases_are_refused(url: str) -> None:
    """Neither the text nor what it goes back to shows the password."""
    with pytest.raises(SettingsError) as raised:
        Database(url)
    assert "secret" not in f"{raised.value} {raised.value.__cause__}"


def test_a_database_that_does_not_answer_has_an_error_of_its_own(tmp_path: Path) -> None:
    """The address stays out of the text."""
    database = Database(f"sqlite:///{tmp_path / 'none' / 'service.db'}")
    with pytest.raises(DatabaseUnavailable) as raised, database.reading():
        pass
    assert "none" not in str(raised.value)


def test_what_raises_is_not_kept(database: Database) -> None:
    """A transaction is kept as a whole or not at all."""

    def fail() -> None:
        with database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO leases (devices) VALUES ('x')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT * FROM leases").all() == []


def test_sqlite_is_set_up_for_crashes_and_readers(database: Database) -> None:
    """What was committed is on the disk, and readers do not wait for a writer."""
    with database.writing(), database.reading() as connection:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        found = [connection.exec_driver_sql(f"PRAGMA {each}").scalar() for each in pragmas]
    assert found == ["wal", 2, 1]
