"""The schema: made at the first start, and changed only by `autotune database --migrate`.

An empty database gets the tables as they are declared; migrations are for those that are there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic.operations import Operations
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
            _context(connection).stamp(_scripts(), "head")
        _check(connection)


def migrate(database: Database) -> None:
    with database.migrating() as connection:
        lock(connection, "schema")
        found, context = _revision(connection), _context(connection)
        if found in _known():
            with Operations.context(context):
                for each in reversed([*_scripts().iterate_revisions("head", found)]):
                    each.module.upgrade()
            context.stamp(_scripts(), "head")
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
    return _context(connection).get_current_revision()


def _context(connection: Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})


def _known() -> tuple[str, ...]:
    return tuple(reversed([each.revision for each in _scripts().walk_revisions()]))


@cache
def _scripts() -> ScriptDirectory:
    """Return the migrations, which are the other modules of this package."""
    folder = str(Path(__file__).parent)
    return ScriptDirectory(folder, version_locations=[folder])
