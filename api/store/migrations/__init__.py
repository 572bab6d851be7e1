"""The schema: made at the first start, and changed only by `autotune database --migrate`.

An empty database gets the tables as they are declared; migrations are for those that are there.
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
from autotune.api.store.tables import metadata

VERSION_TABLE = "autotune_version"
"""Not Alembic's usual name: Optuna's tables may be in the same database and use that."""


def make(database: Database) -> None:
    with database.migrating() as connection:
        _check_encoding(connection)
        lock(connection, "schema")
        if _revision(connection) is None:
            metadata.create_all(connection)
            command.stamp(_config(connection), "head")
        _check(connection)


def migrate(database: Database) -> None:
    with database.migrating() as connection:
        lock(connection, "schema")
        if _revision(connection) in _known():
            command.upgrade(_config(connection), "head")
        _check(connection)


def check_schema(database: Database) -> None:
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


def _config(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    # The option goes through an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
