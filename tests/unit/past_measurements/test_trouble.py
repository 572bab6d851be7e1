"""A store that cannot be used costs a search nothing but a sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from autotune import past_measurements
from autotune.past_measurements import PastMeasurements

from .conftest import MACHINE, WORKLOAD, session

Spoil = Callable[[Path], object]


def nonsense(file: Path) -> None:
    file.write_bytes(b"this is no database" * 100)


def torn(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def other_tables(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("ALTER TABLE measured DROP COLUMN stage")


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("spoil", [nonsense, torn, other_tables, folder])
def test_a_broken_store_is_told_once(
    past: PastMeasurements, file: Path, told: list[str], spoil: Spoil
) -> None:
    """Reading gives nothing, writing does nothing, and the sentence says what to do."""
    past.add(session())
    spoil(file)
    assert past.measurements(MACHINE, WORKLOAD) == ()
    past.noise(MACHINE)
    past.add(session("b"))
    assert len(told) == 1
    assert str(file) in told[0]
    assert "delete the file" in told[0]
    assert "\n" not in told[0]


def test_a_folder_that_cannot_be_made(tmp_path: Path, told: list[str]) -> None:
    """Nothing is kept, and the search is over all the same."""
    (tmp_path / "file").touch()
    past = PastMeasurements(tmp_path / "file" / "measurements.db", told.append)
    assert past.measurements(MACHINE, WORKLOAD) == ()
    past.add(session())
    assert len(told) == 1


def read_only(file: Path) -> PastMeasurements:
    """Return a store that may be read but not written, also by a user who may write anything."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON measured "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
    return PastMeasurements(file)


def test_a_store_that_cannot_be_written_is_still_read(past: PastMeasurements, file: Path) -> None:
    """A search is kept whole or not at all."""
    past.add(session())
    full = read_only(file)
    full.add(session("b", ended=2.0))
    assert {each.session for each in full.measurements(MACHINE, WORKLOAD)} == {"a"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_still_read(
    past: PastMeasurements, file: Path, told: list[str]
) -> None:
    """The user learns that this search is not kept."""
    past.add(session())
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        assert past.measurements(MACHINE, WORKLOAD) == session().measured
        past.add(session("b"))
    finally:
        file.parent.chmod(0o755)
    assert len(told) == 1


def test_a_locked_store_is_not_waited_for(
    past: PastMeasurements, file: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may hold it for long; a search has better things to do."""
    past.add(session())
    monkeypatch.setattr(past_measurements, "LOCK_SECONDS", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert past.measurements(MACHINE, WORKLOAD) == ()
        past.add(session("b"))
    assert len(told) == 1
    assert "locked" in told[0]
