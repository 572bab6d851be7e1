"""Search against search: who is entered gets an outcome, whatever it finds."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from benchmarks.replay import contest
from benchmarks.replay.contest import DEFAULT, Entered, entered
from benchmarks.replay.outcome import Job
from benchmarks.tuners.meter import Meter


def test_who_measures_nothing_keeps_the_plainest(monkeypatch: pytest.MonkeyPatch) -> None:
    """One device, as a program is before anybody tunes it."""

    def idle(_: object, meter: Meter, seed: int) -> Configuration | None:
        del meter, seed
        return None

    monkeypatch.setattr(contest, "RIVALS", {"nobody": idle})
    job = Job(table="tfrecords", scenario=DEFAULT, seed=0)
    outcome = entered(Entered(name="nobody", job=job))
    assert not outcome.distributes
    assert 0 < outcome.share < 1
