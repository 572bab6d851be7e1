"""The tables are made once; those of another version are named, and not touched."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import insert, select
from sqlmodel import col

from autotune.api.errors import OtherSchema, SettingsError
from autotune.api.store import migrations
from autotune.api.store.database import BUSY_SECONDS, LONG_SECONDS, Database, lock
from autotune.api.store.migrations import advice, check_schema, make, migrate
from autotune.api.store.tables import MachineRow


def test_making_the_tables_again_changes_nothing(database: Database) -> None:
    make(database)
    check_schema(database)
    assert "nothing to do" in advice(database)


@pytest.fixture
def other(database: Database) -> Database:
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE autotune_version SET version_num = '9999'")
    return database


@pytest.mark.parametrize("opened", [make, check_schema, migrate])
def test_a_database_of_another_version_is_named(
    other: Database, opened: Callable[[Database], None]
) -> None:
    with pytest.raises(OtherSchema, match="schema 9999") as raised:
        opened(other)
    assert "autotune database" in raised.value.next_step
    assert "Run that version" in advice(other)


SECOND = """
from alembic import op

revision, down_revision = "second", "0.1.0"


def upgrade():
    op.execute("DELETE FROM machines")
"""


def test_an_earlier_database_is_migrated_by_its_command_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with database.writing() as connection:
        connection.execute(insert(MachineRow).values(devices="d", record="{}"))
    shutil.copy(Path(migrations.__file__).with_name("v0_1_0.py"), tmp_path)
    (tmp_path / "second.py").write_text(SECOND)
    later = ScriptDirectory(str(tmp_path), version_locations=[str(tmp_path)])
    monkeypatch.setattr(migrations, "_scripts", lambda: later)
    with pytest.raises(OtherSchema, match=r"schema 0\.1\.0"):
        make(database)
    assert "autotune database --migrate" in advice(database)
    migrate(database)
    check_schema(database)
    with database.reading() as connection:
        assert connection.execute(select(col(MachineRow.devices))).all() == []


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_migration_may_take_long(database: Database) -> None:
    """A large database needs it; everything else is bounded, as before."""
    query = "SELECT extract(epoch FROM current_setting(%s)::interval)"
    for name in ("statement_timeout", "lock_timeout"):
        with database.migrating() as connection:
            assert connection.exec_driver_sql(query, (name,)).scalar() == LONG_SECONDS
        with database.writing() as connection:
            assert connection.exec_driver_sql(query, (name,)).scalar() == BUSY_SECONDS


@pytest.fixture
def encoded(request: pytest.FixtureRequest, postgresql: Any) -> Iterator[Database]:
    """A database without a schema whose server keeps text in an encoding."""
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
        connection.execute(insert(MachineRow).values(devices=text, record="{}"))
        assert connection.execute(select(col(MachineRow.devices))).scalar_one() == text


@pytest.mark.parametrize("encoded", ["LATIN1"], indirect=True)
def test_a_server_that_cannot_keep_every_text_is_refused(encoded: Database) -> None:
    """Before anything is in it; the message says how to make one that can."""
    with pytest.raises(SettingsError, match="LATIN1") as raised:
        make(encoded)
    assert "ENCODING 'UTF8'" in raised.value.next_step


def test_a_process_waits_for_the_migration_of_another(database: Database) -> None:
    """However long that takes; here it is behind it, and finds the work done."""
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


def test_processes_that_start_at_once_do_not_collide(tmp_path: Path) -> None:
    """The first one makes the tables, the others wait and find them."""
    failures: list[BaseException] = []

    def start() -> None:
        database = Database(f"sqlite:///{tmp_path / 'fresh.db'}")
        try:
            make(database)
        except BaseException as exc:  # noqa: BLE001 - shown below
            failures.append(exc)
        finally:
            database.close()

    threads = [threading.Thread(target=start) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
