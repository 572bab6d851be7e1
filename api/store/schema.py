"""The schema: made at the first start, and changed only by `autotune database --migrate`.

An empty database gets the tables as they are declared; steps are for those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, insert, inspect, select

from autotune.api.store.database import Database, lock
from autotune.api.store.tables import metadata, schema
from autotune.wire.errors import OtherSchema, SettingsError

NUMBER = "0.2.0"
"""Version of autotune that last changed the tables."""
STEPS: Mapping[str, tuple[str, Sequence[str]]] = {
    "0.1.0": (
        "0.2.0",
        (
            "DROP TABLE labels",
            "ALTER TABLE workers ADD COLUMN takes_code BOOLEAN DEFAULT false",
            "ALTER TABLE jobs ADD COLUMN digest VARCHAR",
            "CREATE INDEX ix_jobs_digest ON jobs (digest)",
        ),
    ),
}
"""What leads from an earlier number to the next: that, and statements. New tables need none."""


def make(database: Database) -> None:
    with database.migrating() as connection:
        _check_encoding(connection)
        lock(connection, "schema")
        if _number(connection) is None:
            metadata.create_all(connection)
            connection.execute(insert(schema).values(version_num=NUMBER))
        _check(connection)


def migrate(database: Database) -> None:
    with database.migrating() as connection:
        lock(connection, "schema")
        found = _number(connection) or ""
        if found in STEPS:
            while found in STEPS:
                found, statements = STEPS[found]
                for each in statements:
                    connection.exec_driver_sql(each)
            metadata.create_all(connection)
            connection.execute(delete(schema))
            connection.execute(insert(schema).values(version_num=found))
        _check(connection)


def check_schema(database: Database) -> None:
    with database.reading() as connection:
        _check(connection)


def advice(database: Database) -> str:
    """Return what the schema is and what to do about it, in two sentences."""
    with database.reading() as connection:
        found = _number(connection)
    if found is None:
        return "It has no tables yet. Start `autotune serve` to make them."
    if found == NUMBER:
        return f"Its schema ({found}) is that of this version. There is nothing to do."
    if found in STEPS:
        return (
            f"Its schema ({found}) is of an earlier version. Stop all parts of the service, back "
            "the database up, run `autotune database --migrate`, and start the service."
        )
    return (
        f"Its schema ({found}) is of a version that this one does not know. Run that version, or "
        "set another `database`."
    )


def _check(connection: Connection) -> None:
    found = _number(connection)
    if found != NUMBER:
        has = "has no tables" if found is None else f"has the schema {found}"
        raise OtherSchema(
            f"The database {has}, and this version of autotune needs the schema {NUMBER}.",
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


def _number(connection: Connection) -> str | None:
    if not inspect(connection).has_table(schema.name):
        return None
    return connection.execute(select(schema.c.version_num)).scalar()
