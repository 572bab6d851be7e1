"""The database: its transactions, and its clock, so that the clocks of workers need not agree."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import BoundedSemaphore
from time import monotonic, sleep
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Float,
    Insert,
    Table,
    create_engine,
    event,
    make_url,
    or_,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    TimeoutError,  # noqa: A004 - of a connection
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from autotune.wire.errors import DatabaseUnavailable, DiskFull, SettingsError

BUSY_SECONDS = 10
"""Longest wait for another writer; less than a lease, so that a worker knows in time."""
READ_SECONDS = 1
"""Longest wait of readers: of SQLite they wait for a writer only as it opens the file."""
RETRY_SECONDS = 0.02
"""Between two attempts at what SQLite does not wait for itself."""
LONG_SECONDS = 24 * 3600
"""Longest wait of a migration, which a large database may need."""
MOST_WRITERS = 30
"""Writers of one process that may wait; fewer than its threads, so that readers find one."""
TURN_SECONDS = 2.0
"""Longest wait of others to be one of them."""
_DISK_FULL = "53100"
_ALIVE = {
    "tcp_user_timeout": 1000 * BUSY_SECONDS,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
"""After some ten seconds a connection counts as lost whose server says nothing, not even that."""


class Database:
    """A database, and how to read and write it in transactions. Threads may share it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._turns = BoundedSemaphore(MOST_WRITERS)
        self.full = False
        self._reader, self._writer = _engines(url)
        file = self._writer.url.database if self._writer.dialect.name == "sqlite" else None
        self.file = Path(file) if file else None
        """The file of SQLite; None for PostgreSQL."""
        self._opened: tuple[int, int] | None = None

    def _check_file(self) -> None:
        """Make sure that the file of SQLite is still the one that was opened first.

        Its connections would go on with one that was removed, and lose all that is written.
        """
        if self.file is None:
            return
        try:
            found = self.file.stat()
        except OSError:
            now = None
        else:
            now = found.st_dev, found.st_ino
        if self._opened is None:
            self._opened = now
        elif now != self._opened:
            raise DatabaseUnavailable(
                f"The database file {self.file.name} was removed or replaced.",
                "Stop the service, put the file back, and start it again.",
            )

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that may write; it is kept unless the block raises."""
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise DatabaseUnavailable(
                "Too many changes wait for the database.", "Try again in a few seconds."
            )
        try:
            self._check_file()
            with _translated(), self._writer.connect() as connection, connection.begin():
                yield connection
            self.full = False
        except DiskFull:
            self.full = True
            raise
        finally:
            self._turns.release()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a transaction that reads, and sees one state of the database."""
        self._check_file()
        with _translated(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Give a transaction that may write, and take as long as it needs."""
        engine = _engine(self._url, LONG_SECONDS)
        try:
            with _translated(), engine.begin() as connection:
                yield connection
            self._check_file()
        finally:
            engine.dispose()

    def close_to_others(self) -> None:
        """Close the files of SQLite to all but their owner and group."""
        for each in (f"{self.file}{ending}" for ending in ("", "-wal", "-shm") if self.file):
            with suppress(OSError):  # It is not there, or another user's.
                Path(each).chmod(Path(each).stat().st_mode & 0o770)

    def close(self) -> None:
        self._reader.dispose()
        self._writer.dispose()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, TimeoutError) as exc:
        original = getattr(exc, "orig", None)
        code = getattr(original, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_FULL or getattr(original, "sqlstate", None) == _DISK_FULL:
            raise DiskFull("The database has no space left.", "Contact the operator.") from exc
        # The text may hold the address or the statement: it goes to the log, through the cause.
        raise DatabaseUnavailable(
            "The database is unavailable.", "Try again; if it recurs, check its log."
        ) from exc


def cause_of(error: DatabaseUnavailable) -> str:
    """Return the first line of the database's own error, which holds no values."""
    original = getattr(error.__cause__, "orig", None)
    return (str(original).strip().splitlines() or [""])[0].rstrip(".")


def _engines(url: str) -> tuple[Engine, Engine]:
    """Return the engine that reads one state of the database, and the engine that writes.

    SQLite has one writer at a time: those of this process wait for its connection in turn, and take
    none of the readers'.
    """
    engine = _engine(url, pool_size=1, max_overflow=0, pool_timeout=BUSY_SECONDS)
    if engine.dialect.name != "sqlite":
        return engine.execution_options(isolation_level="REPEATABLE READ"), engine
    return _engine(url, READ_SECONDS, begin="BEGIN", pool_timeout=READ_SECONDS), engine


def _engine(
    url: str, seconds: int = BUSY_SECONDS, begin: str = "BEGIN IMMEDIATE", **pool: int
) -> Engine:
    """Return an engine; how it begins, and its pool, are of SQLite alone."""
    unusable = SettingsError(
        "The database URL must be a file of SQLite, or PostgreSQL.",
        "Use sqlite:///path/to/file or postgresql://user@host/name.",
    )
    try:
        made = make_url(url)
        backend = made.get_backend_name()
        # A query could make a database in memory of a file, one for each connection.
        if backend == "sqlite" and made.database not in (None, "", ":memory:") and not made.query:
            return _sqlite(url, seconds, begin, **pool)
        if backend == "postgresql":
            return _postgresql(url, seconds)
    except (ArgumentError, NoSuchModuleError, ImportError) as exc:
        raise unusable from exc
    raise unusable


def _sqlite(url: str, seconds: int, begin: str, **pool: int) -> Engine:
    engine = create_engine(url, connect_args={"timeout": seconds}, hide_parameters=True, **pool)
    event.listen(engine, "connect", lambda made, _: _prepare_sqlite(made, seconds))
    # A transaction that reads first and writes then could not take the lock without a conflict.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, seconds: int) -> None:
    # Python's module would begin transactions by rules of its own.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    ends = monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            # While another connection writes to a new database, SQLite refuses this at once.
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() >= ends:
                raise
            sleep(RETRY_SECONDS)
        else:
            return


def _postgresql(url: str, seconds: int) -> Engine:
    driver = make_url(url).set(drivername="postgresql+psycopg")
    limits = f"-c statement_timeout={seconds}s -c lock_timeout={seconds}s"
    # A server that was made without a locale names no encoding, and would be answered by bytes.
    arguments = {"connect_timeout": 5, "options": limits, "client_encoding": "utf8", **_ALIVE}
    return create_engine(driver, connect_args=arguments, hide_parameters=True, pool_pre_ping=True)


def lock(connection: Connection, name: str) -> None:
    """Let one transaction at a time go on that names the same; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        query = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 7246581143))")
        connection.execute(query, {"name": name})


def insert_new(connection: Connection, table: Table, **values: Any) -> Insert:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement: Insert = dialect.insert(table).values(**values).on_conflict_do_nothing()
    return statement


class Now(FunctionElement[float]):
    """Seconds since 1970 by the database's clock, at this moment, not at the transaction's."""

    type = Float()
    inherit_cache = True


@compiles(Now, "sqlite")
def _now_sqlite(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Now, "postgresql")
def _now_postgresql(*_: Any, **__: Any) -> str:
    # In a query of its own it is asked once for a statement, not once for a row.
    return "(SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION))"


def live(expires_at: ColumnElement[Any]) -> ColumnElement[bool]:
    return expires_at > Now()


def lapsed(expires_at: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a lease is over or was never given."""
    return or_(expires_at.is_(None), expires_at <= Now())
