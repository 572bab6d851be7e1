"""What is kept of past searches, and what is given back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autotune import past_measurements
from autotune.past_measurements import PastMeasurements
from autotune.stats import Noise

from .conftest import ALONE, MACHINE, WORKLOAD, measured, session


def change(file: Path, statement: str) -> None:
    """Change the database behind the store's back."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)


def test_what_is_added_comes_back(past: PastMeasurements, told: list[str]) -> None:
    """The same values, without a word to the user."""
    past.add(session())
    assert past.measurements(MACHINE, WORKLOAD) == session().measured
    assert told == []


def test_an_empty_store_says_nothing(past: PastMeasurements, file: Path, told: list[str]) -> None:
    """Nobody has measured yet, which is no fault, and reading makes no file."""
    assert past.measurements(MACHINE, WORKLOAD) == ()
    assert past.noise(MACHINE) is None
    assert told == []
    assert not file.parent.exists()


def test_a_store_that_is_switched_off_keeps_nothing() -> None:
    """It can be used all the same."""
    past = PastMeasurements(None)
    past.add(session())
    assert past.measurements(MACHINE, WORKLOAD) == ()
    assert past.noise(MACHINE) is None


def test_a_search_without_measurements_is_not_kept(past: PastMeasurements, file: Path) -> None:
    """There is nothing to learn from it."""
    past.add(session(measured=()))
    assert not file.exists()


@pytest.mark.parametrize("other", ["machine", "workload"])
def test_only_the_same_machine_and_workload_count(past: PastMeasurements, other: str) -> None:
    """Measurements of anything else do not apply."""
    past.add(session(**{other: "another00000"}))
    assert past.measurements(MACHINE, WORKLOAD) == ()


def test_the_newest_sessions_come_first_and_are_few(
    past: PastMeasurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old ones say little of today, whatever the order in which they were added."""
    monkeypatch.setattr(past_measurements, "SESSIONS", 2)
    for name, ended in {"b": 2.0, "c": 3.0, "a": 1.0}.items():
        past.add(session(name, ended=ended))
    found = [each.session for each in past.measurements(MACHINE, WORKLOAD)]
    assert found == ["c", "c", "b", "b"]


def test_the_oldest_searches_give_way(
    past: PastMeasurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size is bounded, over all machines and workloads."""
    monkeypatch.setattr(past_measurements, "MOST_ROWS", 4)
    past.add(session("a", ended=1.0))
    past.add(session("b", ended=2.0, workload="another00000"))
    past.add(session("c", ended=3.0))
    assert {each.session for each in past.measurements(MACHINE, WORKLOAD)} == {"c"}
    assert len(past.measurements(MACHINE, "another00000")) == 2


def test_the_newest_search_is_kept_however_large(
    past: PastMeasurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that is larger than the bound still helps the next one."""
    monkeypatch.setattr(past_measurements, "MOST_ROWS", 1)
    past.add(session("a", ended=1.0))
    past.add(session("b", ended=2.0))
    assert {each.session for each in past.measurements(MACHINE, WORKLOAD)} == {"b"}


def test_noise_is_that_of_the_noisier_searches_of_a_machine(past: PastMeasurements) -> None:
    """Whatever was trained in them; those without repeats say nothing."""
    past.add(session("a", noise=Noise(sd=0.1, degrees=1.0)))
    past.add(session("b", noise=Noise(sd=0.12, degrees=3.0), workload="another00000"))
    past.add(session("c", noise=None))
    past.add(session("d", noise=Noise(sd=0.9, degrees=9.0), machine="another00000"))
    assert past.noise(MACHINE) == Noise(sd=0.12, degrees=4)


def test_a_busy_hour_says_nothing_of_a_quiet_machine(past: PastMeasurements) -> None:
    """What others took is kept with a search, and its noise is not expected of the next one."""
    past.add(session("a", noise=Noise(sd=0.06, degrees=4.0), load=0.02))
    past.add(session("b", noise=Noise(sd=0.42, degrees=9.0), load=0.8))
    assert past.noise(MACHINE) == Noise(sd=0.06, degrees=4)


@pytest.mark.parametrize(("sd", "expected"), [(0.001, 0.02), (0.6, 0.15)])
def test_noise_is_expected_within_bounds(
    past: PastMeasurements, sd: float, expected: float
) -> None:
    """One wild search, or one that was still, does not set what is expected."""
    past.add(session("a", noise=Noise(sd=sd, degrees=4.0)))
    assert past.noise(MACHINE) == Noise(sd=expected, degrees=4)


def test_values_of_every_kind_come_back(past: PastMeasurements) -> None:
    """An axis of the user's own keeps the type of its value."""
    own = (("flag", True), ("rate", 0.5), ("size", 96), ("text", "ü'\""))
    kept = measured(ALONE.but(arguments=own, prefetch=4, cache="memory"), 3.5)
    past.add(session(measured=(kept,)))
    assert past.measurements(MACHINE, WORKLOAD) == (kept,)


@pytest.mark.parametrize(
    "broken",
    [
        'configuration = \'{"strategy": "mirrored", "gone": 1}\'',
        "configuration = '{\"per_replica_batch\": 0}'",
        "configuration = 'no json'",
        "examples_per_second = 0",
        "examples_per_second = 9e999",
        "stage = 'of another version'",
    ],
)
def test_what_another_version_wrote_is_ignored(
    past: PastMeasurements, file: Path, told: list[str], broken: str
) -> None:
    """A row that does not fit is left out, the others count, and nobody is bothered."""
    past.add(session())
    change(file, f"UPDATE measured SET {broken} WHERE number = 1")  # noqa: S608 - our own
    assert past.measurements(MACHINE, WORKLOAD) == session().measured[1:]
    assert told == []
