"""The tables are made once; those of another version are named, and not touched."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, inspect, select
from sqlmodel import col

from autotune.api.store.database import Database, lock
from autotune.api.store.tables import Code, Totals, advice, check_schema, make, migrate
from autotune.api.store.workers import seen
from autotune.api.values import WorkerInfo
from autotune.wire.errors import OtherSchema, SettingsError


def test_making_the_tables_again_changes_nothing(database: Database) -> None:
    make(database)
    check_schema(database)
    assert "nothing to do" in advice(database)


def test_a_database_of_another_version_is_named(database: Database) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE autotune_version SET version_num = '9999'")
    for opened in (make, check_schema, migrate):
        with pytest.raises(OtherSchema, match="schema 9999") as raised:
            opened(database)
        assert "autotune database" in raised.value.next_step
    assert "Run that version" in advice(database)


def test_an_earlier_database_is_migrated_by_its_command_alone(database: Database) -> None:
    """Here the first schema, as far as it differs from this one."""
    with database.writing() as connection:
        connection.execute(insert(Totals).values(name="t", value=1.0))
        for each in (
            "DROP TABLE code",
            "CREATE TABLE labels (seq INTEGER)",
            "ALTER TABLE workers DROP COLUMN takes_code",
            "DROP INDEX ix_jobs_digest",
            "ALTER TABLE jobs DROP COLUMN digest",
            "UPDATE autotune_version SET version_num = '0.1.0'",
        ):
            connection.exec_driver_sql(each)
    with pytest.raises(OtherSchema, match=r"schema 0\.1\.0"):
        make(database)
    assert "autotune database --migrate" in advice(database)
    migrate(database)
    check_schema(database)
    seen(database, WorkerInfo(worker="w", devices="d", host="h"))
    with database.reading() as connection:
        assert connection.execute(select(col(Totals.name))).all() == [("t",)]
        assert not connection.execute(select(col(Code.digest))).all()
        assert not inspect(connection).has_table("labels")


@pytest.fixture
def encoded(request: pytest.FixtureRequest, postgresql: Any) -> Iterator[Database]:
    rest = f"TEMPLATE template0 LOCALE 'C' ENCODING '{request.param}'"
    postgresql.execute(f"CREATE DATABASE encoded {rest}")
    database = Database(postgresql.url("encoded"))
    yield database
    database.close()
    postgresql.execute("DROP DATABASE encoded WITH (FORCE)")


@pytest.mark.parametrize("encoded", ["SQL_ASCII"], indirect=True)
def test_a_server_without_an_encoding_keeps_every_text(encoded: Database) -> None:
    """As `initdb` makes it where no locale is set, in many an image of a container."""
    make(encoded)
    with encoded.writing() as connection:
        text = "Z\u00fcrich \N{SNOWMAN}"
        connection.execute(insert(Totals).values(name=text, value=1.0))
        assert connection.execute(select(col(Totals.name))).scalar_one() == text


@pytest.mark.parametrize("encoded", ["LATIN1"], indirect=True)
def test_a_server_that_cannot_keep_every_text_is_refused(encoded: Database) -> None:
    with pytest.raises(SettingsError, match="LATIN1") as raised:
        make(encoded)
    assert "ENCODING 'UTF8'" in raised.value.next_step


def test_a_process_waits_for_the_migration_of_another(database: Database) -> None:
    order: list[str] = []

    def start() -> None:
        make(database)
        order.append("second")

    with database.migrating() as connection:
        lock(connection, "schema")
        second = threading.Thread(target=start)
        second.start()
        second.join(0.3)
        order.append("first")
    second.join()
    assert order == ["first", "second"]


def test_a_new_file_to_which_another_connection_writes_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "fresh.db"
    ended: list[bool] = []
    database = Database(f"sqlite:///{file}")

    def start() -> None:
        make(database)
        ended.append(True)

    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        second = threading.Thread(target=start)
        second.start()
        second.join(0.3)
        assert second.is_alive()
        other.execute("COMMIT")
    second.join()
    database.close()
    assert ended
