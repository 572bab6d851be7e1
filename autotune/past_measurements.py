"""What past searches measured, kept for the next one in a database of the user's.

Whatever is wrong with the database, a search goes on without it.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from autotune.config import Configuration
from autotune.engine.load import NOTICEABLE, Load
from autotune.reason import Outcome
from autotune.stats import Noise, squared_residuals
from autotune.trial import Stage, Trial
from autotune.value import Value

CACHE = "AUTOTUNE_CACHE"
"""Variable that names another folder for the database; empty or `off` keeps nothing."""
FILE = "measurements.db"
SESSIONS = 10
"""Searches of one workload that are looked back at; older ones say little of today."""
PESSIMISTIC = 0.75
"""Share of the searches that were at most as noisy as is expected of the next one."""
LEAST_NOISE, MOST_NOISE = 0.02, 0.15
"""Less or more is not expected, whatever the past was like."""
NOISE_SESSIONS = 20
"""Searches of any workload from which a machine's noise is known."""
MOST_ROWS = 20_000
"""Trials that are kept, some 10 MB; the oldest searches give way."""
LOCK_SECONDS = 1.0
"""How long to wait for another process."""
_TABLES = """
CREATE TABLE IF NOT EXISTS session (
  id TEXT PRIMARY KEY, ended REAL, machine TEXT, workload TEXT, noise_sd REAL,
  noise_degrees REAL, load REAL
);
CREATE INDEX IF NOT EXISTS session_machine ON session (machine, ended);
CREATE TABLE IF NOT EXISTS measured (
  number INTEGER PRIMARY KEY, session TEXT REFERENCES session (id) ON DELETE CASCADE,
  configuration TEXT, examples_per_second REAL, stage TEXT, pruned INTEGER
);
CREATE INDEX IF NOT EXISTS measured_session ON measured (session);
"""

Tell = Callable[[str], None]
"""Is given sentences that the user should know."""
T = TypeVar("T")


class Measured(Value):
    """One trial of a past search that showed a speed."""

    session: str
    """The search; absolute rates of different ones are not comparable, because machines drift."""
    configuration: Configuration
    examples_per_second: float = Field(gt=0, allow_inf_nan=False)
    stage: Stage
    pruned: bool = False
    """Stopped early, so that its rate is what it had shown by then."""


class Session(Value):
    """One search that has ended."""

    id: str
    ended: float
    """Unix time in seconds."""
    machine: str
    """`Machine.fingerprint`, which versions of TensorFlow and Keras are part of."""
    workload: str
    """`Workload.fingerprint`."""
    noise: Noise | None
    """Between-run noise, from repeats in this search alone; None without any."""
    load: float | None = None
    """Share of the cores that other programs took meanwhile; None where nobody looked."""
    measured: tuple[Measured, ...]


class PastMeasurements:
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
        rows = self._rows(
            "SELECT session, configuration, examples_per_second, stage, pruned FROM measured "
            "JOIN (SELECT id, ended FROM session WHERE machine = ? AND workload = ? "
            "ORDER BY ended DESC LIMIT ?) ON id = session ORDER BY ended DESC, session, number",
            (machine, workload, SESSIONS),
        )
        return tuple(each for each in map(_measured, rows) if each is not None)

    def noise(self, machine: str) -> Noise | None:
        """Return the between-run noise of a machine that nobody else uses, or None.

        That of a session among the noisier ones, within bounds: one bad hour is not the rule.
        """
        rows = self._rows(
            "SELECT noise_sd, noise_degrees FROM session WHERE machine = ? AND noise_degrees > 0 "
            "AND coalesce(load, 0) < ? ORDER BY ended DESC LIMIT ?",
            (machine, NOTICEABLE, NOISE_SESSIONS),
        )
        if not rows:
            return None
        sd = sorted(sd for sd, _ in rows)[math.ceil(PESSIMISTIC * len(rows)) - 1]
        bounded = min(max(sd, LEAST_NOISE), MOST_NOISE)
        return Noise(sd=bounded, degrees=sum(degrees for _, degrees in rows))

    def add(self, session: Session) -> None:
        """Keep a search that has ended, all of it or nothing; old ones give way to it."""
        if self._file is not None and session.measured:
            self._attempt(self._file, lambda database: _add(database, session), None)

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        if self._file is None:
            return []
        return self._attempt(
            self._file, lambda database: database.execute(query, values).fetchall(), [], make=False
        )

    def _attempt(
        self, file: Path, work: Callable[[sqlite3.Connection], T], nothing: T, *, make: bool = True
    ) -> T:
        try:
            if make:
                file.parent.mkdir(parents=True, exist_ok=True)
            elif not file.exists():
                return nothing
            with _opened(file) as database:
                return work(database)
        except (OSError, sqlite3.Error) as exc:
            if not self._told:
                self._told = True
                self._tell(
                    f"Past measurements in {file} cannot be used: {exc}. The search continues "
                    f"without them; if this recurs, delete the file or set {CACHE} to another "
                    "folder."
                )
            return nothing


def measurements_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the database of past measurements, or None where none is wanted.

    It is in the folder that `AUTOTUNE_CACHE` names, else in `autotune` within the user's cache
    folder (`XDG_CACHE_HOME`, or `~/.cache`). Nothing is made here.
    """
    chosen = environment.get(CACHE)
    if chosen is not None:
        return None if chosen.lower() in ("", "off") else Path(chosen).absolute() / FILE
    stated = Path(environment.get("XDG_CACHE_HOME", ""))
    try:
        # The specification says to ignore a relative path.
        folder = stated if stated.is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers
        return None
    return folder / "autotune" / FILE


def session_of(
    machine: str, workload: str, trials: Iterable[Trial], load: Load | None = None
) -> Session:
    """Return the record of a search that ends now.

    Args:
        machine: Fingerprint of what it ran on.
        workload: Fingerprint of what was trained.
        trials: Those that it made itself, not those of a study that it resumed.
        load: What other programs took meanwhile; None where nobody looked.
    """
    name = uuid.uuid4().hex
    measured = tuple(
        Measured(
            session=name,
            configuration=trial.configuration,
            examples_per_second=trial.examples_per_second,
            stage=trial.stage,
            pruned=trial.outcome is Outcome.PRUNED,
        )
        for trial in trials
        if trial.outcome in (Outcome.MEASURED, Outcome.PRUNED) and trial.examples_per_second
    )
    return Session(
        id=name,
        ended=time.time(),
        machine=machine,
        workload=workload,
        noise=scatter(measured),
        load=load.share if load else None,
        measured=measured,
    )


def scatter(measured: Iterable[Measured]) -> Noise | None:
    """Return how much repeats of one configuration differ; None where nothing was repeated."""
    squares, degrees = squared_residuals(_logs(measured).values())
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees) if degrees else None


def relative(measurements: Iterable[Measured]) -> dict[Configuration, float]:
    """Return log(rate) of each configuration relative to its session's best single device.

    The mean over its runs in a session, and over sessions. A session without a measured single
    device says nothing, because its machine may have been faster or slower than at other times.
    """
    sessions: dict[str, list[Measured]] = defaultdict(list)
    for each in measurements:
        sessions[each.session].append(each)
    found: dict[Configuration, list[float]] = defaultdict(list)
    for session in sessions.values():
        means = {configuration: fmean(logs) for configuration, logs in _logs(session).items()}
        alone = [mean for configuration, mean in means.items() if not configuration.distributed]
        for configuration, mean in means.items() if alone else ():
            found[configuration].append(mean - max(alone))
    return {configuration: fmean(gaps) for configuration, gaps in found.items()}


def _logs(measured: Iterable[Measured]) -> dict[Configuration, list[float]]:
    """Return log(rate) of the runs of each configuration that could show all they can."""
    logs: dict[Configuration, list[float]] = defaultdict(list)
    for each in measured:
        if not each.pruned:
            logs[each.configuration].append(math.log(each.examples_per_second))
    return logs


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file, timeout=LOCK_SECONDS)) as database, database:
        database.execute("PRAGMA foreign_keys = ON")
        if database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            database.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT")
        yield database


def _measured(row: Sequence[Any]) -> Measured | None:
    session, configuration, rate, stage, pruned = row
    try:
        return Measured(
            session=session,
            configuration=Configuration.model_validate_json(configuration),
            examples_per_second=rate,
            stage=stage,
            pruned=pruned,
        )
    except ValidationError:  # of a version with other axes
        return None


def _add(database: sqlite3.Connection, session: Session) -> None:
    noise = session.noise or Noise(sd=0, degrees=0)
    about = (session.id, session.ended, session.machine, session.workload)
    known = (noise.sd, noise.degrees, session.load)
    database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", about + known)
    database.executemany(
        "INSERT INTO measured VALUES (NULL, ?, ?, ?, ?, ?)",
        [
            (
                each.session,
                each.configuration.model_dump_json(),
                each.examples_per_second,
                each.stage,
                each.pruned,
            )
            for each in session.measured
        ],
    )
    # The oldest sessions go until the rest is few enough; the newest stays in any case.
    database.execute(
        "DELETE FROM session WHERE id IN (SELECT id FROM (SELECT session.id, count(number) AS own, "
        "sum(count(number)) OVER (ORDER BY ended DESC) AS total FROM session LEFT JOIN measured "
        "ON session = session.id GROUP BY session.id) WHERE own < total AND total > ?)",
        (MOST_ROWS,),
    )
