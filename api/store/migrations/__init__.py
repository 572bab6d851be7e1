"""Brings the schema up to date; every process does so when it starts.

A migration adds tables, columns and indexes, and rewrites no rows: those that an earlier version
has written are read as they are (see `records`), and a process of that version goes on meanwhile.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from autotune.api.errors import OtherSchema, SettingsError
from autotune.api.store.database import Database, lock

VERSION_TABLE = "autotune_version"
"""Not Alembic's usual name: Optuna's tables may be in the same database and use that."""


def migrate(database: Database, to: str = "head") -> None:
    """Make the tables, or change them to what this version needs, however long it takes.

    Raises:
        DatabaseUnavailable: The database does not answer.
        OtherSchema: The database is of a newer version.
        SettingsError: The database cannot hold every text.
    """
    config = _config()
    with database.migrating() as connection:
        _check_encoding(connection)
        lock(connection, "schema")
        if _revision(connection) not in _known():
            raise _newer()
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def check_schema(database: Database) -> None:
    """Make sure that the schema is the one that this version needs.

    Raises:
        DatabaseUnavailable: The database does not answer.
        OtherSchema: It has another one.
    """
    with database.reading() as connection:
        found = _revision(connection)
    if found not in _known():
        raise _newer()
    if found != _known()[-1]:
        raise OtherSchema(
            "The database is of an earlier version of autotune.",
            "Start `autotune serve` once to migrate it.",
        )


def _check_encoding(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    # The second keeps the bytes that it is given.
    if encoding not in {"UTF8", "SQL_ASCII"}:
        raise SettingsError(
            f"The database keeps text as {encoding}, which has no room for every character.",
            "Make it by `CREATE DATABASE autotune TEMPLATE template0 ENCODING 'UTF8'`.",
        )


def _newer() -> OtherSchema:
    return OtherSchema(
        "The database is of a newer version of autotune.",
        "Run that version, or restore a backup from before it.",
    )


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


@cache
def _known() -> tuple[str | None, ...]:
    """Return the revisions that this version knows, from that of an empty database on."""
    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return (None, *reversed([each.revision for each in scripts]))


def _config() -> Config:
    config = Config()
    # The option goes through an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
