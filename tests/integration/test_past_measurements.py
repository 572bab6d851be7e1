"""The database of past measurements, used by two processes."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from autotune import past_measurements
from autotune.config import Configuration
from autotune.past_measurements import Measured, PastMeasurements, Session
from autotune.trial import Stage

MACHINE, WORKLOAD = "machine00000", "workload0000"


def session(name: str) -> Session:
    """Return a search that measured one configuration."""
    configuration = Configuration()
    one = Measured(
        session=name, configuration=configuration, examples_per_second=1.0, stage=Stage.EXPLORE
    )
    return Session(
        id=name, ended=1.0, machine=MACHINE, workload=WORKLOAD, noise=None, measured=(one,)
    )


def _write(file: Path, name: str, count: int, failed: object) -> None:
    for number in range(count):
        PastMeasurements(file, lambda _: failed.set()).add(session(f"{name}{number}"))  # type: ignore[attr-defined]


def test_two_processes_may_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even the first time, when both make the tables; nothing is lost."""
    monkeypatch.setattr(past_measurements, "LOCK_SECONDS", 60.0)
    file = tmp_path / "measurements.db"
    fork = multiprocessing.get_context("fork")
    failed = fork.Event()
    writers = [fork.Process(target=_write, args=(file, name, 5, failed)) for name in "ab"]
    for each in writers:
        each.start()
    for each in writers:
        each.join(300)
    assert not failed.is_set()
    found = {each.session for each in PastMeasurements(file).measurements(MACHINE, WORKLOAD)}
    assert len(found) == 10
