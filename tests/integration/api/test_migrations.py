"""The migrations make exactly the tables that the program works with."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from autotune.api.store.database import BUSY_SECONDS, LONG_SECONDS, Database, lock
from autotune.api.store.migrations import VERSION_TABLE, migrate
from autotune.api.store.tables import metadata


def test_the_schema_is_that_of_the_tables(database: Database) -> None:
    """Whoever changes a table is told to write a migration."""
    options = {"version_table": VERSION_TABLE, "compare_type": True}
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_migrating_again_changes_nothing(database: Database) -> None:
    """Every process may do it at its start."""
    migrate(database)
    migrate(database)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_migration_may_take_long(database: Database) -> None:
    """A large database needs it; everything else is bounded, as before."""
    query = "SELECT extract(epoch FROM current_setting(%s)::interval)"
    for name in ("statement_timeout", "lock_timeout"):
        with database.migrating() as connection:
            assert connection.exec_driver_sql(query, (name,)).scalar() == LONG_SECONDS
        with database.writing() as connection:
            assert connection.exec_driver_sql(query, (name,)).scalar() == BUSY_SECONDS


def test_a_process_waits_for_the_migration_of_another(database: Database) -> None:
    """However long that takes; here it is behind it, and finds the work done."""
    order: list[str] = []

    def start() -> None:
        migrate(database)
        order.append("second")

    with database.migrating() as connection:
        lock(connection, "schema")
        second = threading.Thread(target=start)
        second.start()
        second.join(0.3)
        order.append("first")
    second.join()
    assert order == ["first", "second"]


def test_processes_that_start_at_once_do_not_collide(tmp_path: Path) -> None:
    """The first one makes the tables, the others wait and find them."""
    failures: list[BaseException] = []

    def start() -> None:
        database = Database(f"sqlite:///{tmp_path / 'fresh.db'}")
        try:
            migrate(database)
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
