"""The tables. Times are seconds since 1970 by the database's clock, texts of values are JSON.

What a job was asked for is one document, `request`; beside it stand the values that queries need.
Columns of the names of `Job` and `SeenWorker` have the meaning that these document.

An empty database gets the tables as they are declared, at the first start. One that is there is
changed only by `autotune database --migrate`, in steps.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Connection,
    Index,
    LargeBinary,
    MetaData,
    Text,
    delete,
    insert,
    inspect,
    literal_column,
    select,
    text,
)
from sqlmodel import Field, SQLModel

from autotune.api.store.database import Database, lock
from autotune.wire.errors import OtherSchema, SettingsError
from autotune.wire.jobs import HELD

NAMES = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(SQLModel):
    """Base of the tables; their metadata is apart from that of the user's own models."""

    metadata = MetaData(naming_convention=NAMES)


# In the words of the index that holds no others.
_HELD = text(f"state IN ({', '.join(repr(str(each)) for each in sorted(HELD))})")


class Jobs(Base, table=True):
    __table_args__ = (
        Index(None, "state", "seq"),
        Index(None, "project", "seq"),
        Index(None, "project", "state", "seq"),
        Index(None, "project", "started_at"),
        Index(None, "project", "ended_at"),
        Index(None, "project", "idempotency_key"),
        Index("ix_jobs_held", "expires_at", sqlite_where=_HELD, postgresql_where=_HELD),
    )

    seq: int | None = Field(default=None, primary_key=True)
    id: str = Field(unique=True)
    """Its name for the outside, which cannot be guessed."""
    project: str
    created_by: str | None = None
    idempotency_key: str | None = None
    """When it comes again with a request of the same fingerprint, no second job is made."""
    fingerprint: str | None = None
    request: str = Field(sa_type=Text)
    workload: str
    digest: str | None = Field(default=None, index=True)
    """The archive of its code, where that was uploaded."""
    budget_seconds: float
    needs: str | None = Field(default=None, sa_type=Text)
    priority: int = 0
    state: str
    attempt: int = 0
    """The number of the attempt that may write; each claim raises it."""
    devices: str | None = None
    """The devices that it was measured on, and must go on with."""
    expires_at: float | None = None
    """The end of the lease of its attempt, and of those devices; None without an attempt."""
    events: int = 0
    """The number of its events, from which the next one is numbered."""
    trials: int = 0
    one_device: float | None = None
    distributed: float | None = None
    created_at: float
    started_at: float | None = None
    ended_at: float | None = Field(default=None, index=True)
    verdict: str | None = None
    gain_over_yours: float | None = None
    summary: str | None = Field(default=None, sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    code: str | None = None
    code_changed: bool = False
    study: str | None = Field(default=None, sa_type=Text)
    """The purpose of its study, so that a later attempt can go on with it."""
    recommendation: str | None = Field(default=None, sa_type=Text)
    """Without its trials, which have a table."""


class Attempts(Base, table=True):
    __table_args__ = (Index(None, "host", "swept"),)

    job_id: str = Field(primary_key=True, foreign_key="jobs.id")
    number: int = Field(primary_key=True)
    worker: str
    host: str
    """Boot and process namespace, within which a process id means something."""
    marker: str
    """A word that the environment of all its processes holds."""
    pid: int | None = None
    pid_started: int | None = Field(default=None, sa_type=BigInteger)
    """Clock ticks from the boot to the start of the process; with it a pid is never mistaken."""
    claimed_at: float
    began_at: float | None = None
    """When its search began, after waiting for other searches on the machine."""
    seen_at: float
    ended_at: float | None = None
    ending: str | None = None
    swept: bool = False
    """Whether nothing of it is left on its host."""
    messages: int = 0
    """The number of recorded messages of its process, so that none is recorded twice."""
    configuration: str | None = Field(default=None, sa_type=Text)
    """The configuration that runs; if the attempt dies, it is the one that killed it."""


class Trials(Base, table=True):
    """A trial that has ended; there is one of each number."""

    job_id: str = Field(primary_key=True, foreign_key="jobs.id")
    number: int = Field(primary_key=True)
    attempt: int
    record: str = Field(sa_type=Text)
    at: float


class Events(Base, table=True):
    """Something that happened to a job; rows are only ever added."""

    job_id: str = Field(primary_key=True, foreign_key="jobs.id")
    number: int = Field(primary_key=True)
    trial: int | None = None
    """The number of its trial, which is not in its body."""
    body: str = Field(sa_type=Text)
    at: float


class Workers(Base, table=True):
    """A worker; one that is gone is kept for a while, as it tells what its devices are."""

    name: str = Field(primary_key=True)
    devices: str
    workloads: Any = Field(sa_type=JSON)
    machine: Any = Field(sa_type=JSON)
    engine: str
    labels: Any = Field(sa_type=JSON)
    version: str
    started_at: float
    seen_at: float
    draining: bool = False
    takes_code: bool | None = False
    """Whether it runs uploaded code."""


class Keys(Base, table=True):
    """An API key, which itself is not kept."""

    id: str = Field(primary_key=True)
    digest: str = Field(unique=True)
    """SHA-256 of the key."""
    name: str
    project: str
    scopes: str
    """Separated by spaces."""
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None


class Sessions(Base, table=True):
    """A browser that is signed in; its secret is not kept."""

    digest: str = Field(primary_key=True)
    """SHA-256 of its secret."""
    key_id: str = Field(foreign_key="keys.id")
    expires_at: float = Field(index=True)


class Code(Base, table=True):
    """An archive of a project's code, by the SHA-256 of its bytes."""

    project: str = Field(primary_key=True)
    digest: str = Field(primary_key=True)
    archive: bytes = Field(sa_type=LargeBinary)
    bytes: int
    """Size of the archive."""
    files: int
    unpacked: int
    """Bytes of its files."""
    created_at: float
    used_at: float = Field(index=True)
    """When it was last uploaded, or asked for by a job."""


class Schema(Base, table=True):
    """The number of the schema, in one row."""

    __tablename__ = "autotune_version"

    version_num: str = Field(primary_key=True)


class Totals(Base, table=True):
    """A figure about rows that are gone."""

    name: str = Field(primary_key=True)
    value: float


metadata = Base.metadata
jobs = metadata.tables["jobs"]
IS_HELD = jobs.c.state.in_([literal_column(repr(str(each))) for each in sorted(HELD)])
attempts = metadata.tables["attempts"]
trials = metadata.tables["trials"]
events = metadata.tables["events"]
workers = metadata.tables["workers"]
keys = metadata.tables["keys"]
sessions = metadata.tables["sessions"]
totals = metadata.tables["totals"]
code = metadata.tables["code"]
schema = metadata.tables["autotune_version"]


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
"""Steps from an earlier number: the next one, and statements. New tables need none."""


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
