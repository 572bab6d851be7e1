"""The database of past measurements. Whatever is wrong with it, a search goes on without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlmodel import Session as Database, col, create_engine, delete, func, select
from sqlmodel.sql.expression import SelectOfScalar

from autotune.config import Configuration
from autotune.measure import Noise
from autotune.past.place import CACHE
from autotune.past.session import Measured, Session
from autotune.past.tables import MeasuredRow, SessionRow, make_tables

SESSIONS = 10
"""Searches of one workload that are looked back at; older ones say little of today."""
NOISE_SESSIONS = 20
"""Searches of any workload from which a machine's noise is known."""
MOST_ROWS = 20_000
"""Trials that are kept, some 10 MB; the oldest searches give way."""
LOCK_SECONDS = 1.0
"""How long to wait for another process."""

Tell = Callable[[str], None]
"""Is given sentences that the user should know."""
T = TypeVar("T")


class Past:
    """Past measurements of this user. No method raises: the user is told once, and that is all.

    Args:
        file: The database, which need not exist; None keeps nothing.
        tell: Is told when it cannot be used.
    """

    def __init__(self, file: Path | None, tell: Tell = lambda _: None) -> None:
        self._file = file
        self._tell = tell
        self._told = False

    def measurements(self, machine: str, workload: str) -> tuple[Measured, ...]:
        """Return what was measured of a workload on a machine, the newest sessions first.

        Args:
            machine: Its fingerprint.
            workload: Its fingerprint.
        """
        return self._read(lambda database: _measurements(database, machine, workload), ())

    def noise(self, machine: str) -> Noise | None:
        """Return the between-run noise of a machine, pooled over its sessions, or None."""
        return self._read(lambda database: _noise(database, machine), None)

    def add(self, session: Session) -> None:
        """Keep a search that has ended, all of it or nothing; old ones give way to it."""
        if self._file is not None and session.measured:
            self._attempt(self._file, lambda database: _add(database, session), None)

    def _read(self, work: Callable[[Database], T], nothing: T) -> T:
        if self._file is None:
            return nothing
        return self._attempt(self._file, work, nothing, make=False)

    def _attempt(
        self, file: Path, work: Callable[[Database], T], nothing: T, *, make: bool = True
    ) -> T:
        try:
            if make:
                file.parent.mkdir(parents=True, exist_ok=True)
            elif not file.exists():
                return nothing
            with _opened(file) as database:
                return work(database)
        except (OSError, SQLAlchemyError) as exc:
            self._complain(file, exc)
            return nothing

    def _complain(self, file: Path, error: BaseException) -> None:
        if not self._told:
            self._told = True
            self._tell(
                f"Past measurements in {file} cannot be used: {_root(error)}. The search "
                f"continues without them; if this recurs, delete the file or set {CACHE} to "
                "another folder."
            )


@contextmanager
def _opened(file: Path) -> Iterator[Database]:
    url = URL.create("sqlite", database=str(file))
    engine = create_engine(url, connect_args={"timeout": LOCK_SECONDS}, poolclass=NullPool)
    with Database(engine) as database:
        make_tables(database)
        yield database


def _measurements(database: Database, machine: str, workload: str) -> tuple[Measured, ...]:
    sessions = _newest(machine).where(SessionRow.workload == workload).limit(SESSIONS)
    rows = database.exec(
        select(MeasuredRow)
        .join(SessionRow)
        .where(col(SessionRow.id).in_(sessions))
        .order_by(col(SessionRow.ended).desc(), SessionRow.id, col(MeasuredRow.number))
    )
    return tuple(each for each in map(_measured, rows) if each is not None)


def _measured(row: MeasuredRow) -> Measured | None:
    try:
        return Measured.model_validate(
            row.model_dump(exclude={"number"})
            | {"configuration": Configuration.model_validate_json(row.configuration)}
        )
    except ValidationError:  # of a version with other axes
        return None


def _noise(database: Database, machine: str) -> Noise | None:
    sessions = _newest(machine).where(col(SessionRow.noise_degrees) > 0).limit(NOISE_SESSIONS)
    rows = database.exec(select(SessionRow).where(col(SessionRow.id).in_(sessions))).all()
    return _pooled((row.noise_sd, row.noise_degrees) for row in rows)


def _pooled(parts: Iterable[tuple[float | None, float | None]]) -> Noise | None:
    known = [(sd, degrees) for sd, degrees in parts if sd is not None and degrees]
    total = sum(degrees for _, degrees in known)
    if not total:
        return None
    variance = sum(sd**2 * degrees for sd, degrees in known) / total
    return Noise(sd=math.sqrt(variance), degrees=total)


def _newest(machine: str) -> SelectOfScalar[str]:
    found = select(SessionRow.id).where(SessionRow.machine == machine)
    return found.order_by(col(SessionRow.ended).desc())


def _add(database: Database, session: Session) -> None:
    noise = session.noise
    row = SessionRow(
        **session.model_dump(exclude={"noise", "measured"}),
        noise_sd=noise.sd if noise else None,
        noise_degrees=noise.degrees if noise else None,
    )
    database.add(row)
    # Writing first takes the lock, so that nobody else writes between here and the end.
    database.flush()
    database.add_all(_row(each) for each in session.measured)
    database.flush()
    _drop_old(database)
    database.commit()


def _row(measured: Measured) -> MeasuredRow:
    fields = measured.model_dump(mode="json", exclude={"configuration"})
    return MeasuredRow(**fields, configuration=measured.configuration.model_dump_json())


def _drop_old(database: Database) -> None:
    """Delete the oldest sessions until the rest is few enough; the newest stays in any case."""
    sizes = database.exec(
        select(SessionRow.id, func.count(col(MeasuredRow.number)))
        .join(MeasuredRow, isouter=True)
        .group_by(SessionRow.id)
        .order_by(col(SessionRow.ended).desc())
    ).all()
    totals = accumulate(count for _, count in sizes)
    numbered = zip(sizes, totals, strict=True)
    old = [name for (name, count), total in numbered if count < total > MOST_ROWS]
    database.exec(delete(MeasuredRow).where(col(MeasuredRow.session).in_(old)))
    database.exec(delete(SessionRow).where(col(SessionRow.id).in_(old)))


def _root(error: BaseException) -> str:
    """Return the first line of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
