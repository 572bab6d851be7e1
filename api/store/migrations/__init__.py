"""The schema: made at the first start, and changed only by `autotune database --migrate`."""

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


def make(database: Database) -> None:
    """Make the tables where there are none.

    Raises:
        DatabaseUnavailable: The database does not answer.
        OtherSchema: There are tables of another version; they are not touched.
        SettingsError: The database cannot hold every text.
    """
    with database.migrating() as connection:
        _check_encoding(connection)
        lock(connection, "schema")
        if _revision(connection) is None:
            _upgrade(connection)
        _check(connection)


def migrate(database: Database) -> None:
    """Bring the tables of an earlier version up to date, however long it takes.

    Raises:
        DatabaseUnavailable: The database does not answer.
        OtherSchema: They are of a version from which there is no way.
    """
    with database.migrating() as connection:
        lock(connection, "schema")
        if _revision(connection) in _known():
            _upgrade(connection)
        _check(connection)


def check_schema(database: Database) -> None:
    """Make sure that the schema is the one that this version needs.

    Raises:
        DatabaseUnavailable: The database does not answer.
        OtherSchema: It has another one.
    """
    with database.reading() as connection:
        _check(connection)


def advice(database: Database) -> str:
    """Return what the schema is and what to do about it, in two sentences."""
    with database.reading() as connection:
        found = _revision(connection)
    if found is None:
        return "It has no tables yet. Start `autotune serve` to make them."
    if found == _known()[-1]:
        return f"Its schema ({found}) is that of this version. There is nothing to do."
    if found in _known():
        return (
            f"Its schema ({found}) is of an earlier version. Stop all parts of the service, back "
            "the database up, run `autotune database --migrate`, and start the service."
        )
    return (
        f"Its schema ({found}) is of a version that this one does not know. Run that version, or "
        "set another `database`."
    )


def _check(connection: Connection) -> None:
    found, needed = _revision(connection), _known()[-1]
    if found != needed:
        has = "has no tables" if found is None else f"has the schema {found}"
        raise OtherSchema(
            f"The database {has}, and this version of autotune needs the schema {needed}.",
            "Stop the service and run `autotune database`, which says what to do.",
        )


def _upgrade(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


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


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


@cache
def _known() -> tuple[str, ...]:
    """Return the revisions that this version knows, the earliest first."""
    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return tuple(reversed([each.revision for each in scripts]))


def _config() -> Config:
    config = Config()
    # The option goes through an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
