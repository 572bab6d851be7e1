"""What is kept of past searches, and what is given back."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from autotune import past_measurements
from autotune.config import Configuration
from autotune.past_measurements import (
    CACHE,
    Measured,
    PastMeasurements,
    Session,
    measurements_folder,
)
from autotune.stats import Noise

MACHINE, WORKLOAD = "machine00000", "workload0000"
ALONE = Configuration()
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def measured(configuration: Configuration, rate: float) -> Measured:
    return Measured(configuration=configuration, examples_per_second=rate)


def session(name: str = "a", *, ended: float = 1.0, **other: object) -> Session:
    """Return a search that measured two configurations."""
    fields = {
        "id": name,
        "ended": ended,
        "machine": MACHINE,
        "workload": WORKLOAD,
        "measured": (measured(ALONE, 100.0), measured(TWO, 150.0)),
    }
    return Session.model_validate(fields | other)


def repeated(sd: float, degrees: int) -> tuple[Measured, ...]:
    """Return two runs for each degree of freedom, whose logarithms differ by so much."""
    rates = (100.0, 100.0 * math.exp(math.sqrt(2) * sd))
    return tuple(measured(ALONE.but(prefetch=n), each) for n in range(degrees) for each in rates)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where they are kept, which does not exist yet."""
    return tmp_path / "what? a#folder %20"


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def past(folder: Path, told: list[str]) -> PastMeasurements:
    return PastMeasurements(folder, told.append)


def names(past: PastMeasurements) -> list[str]:
    """Return the sessions of the workload, in the order in which they are given back."""
    return [each.id for each in past.sessions(MACHINE, WORKLOAD)]


def test_what_is_added_comes_back(past: PastMeasurements, told: list[str]) -> None:
    """The same values, without a word to the user; an axis of the user's own keeps its type."""
    own = (("flag", True), ("rate", 0.5), ("size", 96), ("text", "ü'\""))
    kept = (measured(ALONE.but(arguments=own, prefetch=4, cache="memory"), 3.5),)
    past.add(session(measured=kept))
    assert past.sessions(MACHINE, WORKLOAD) == [session(measured=kept)]
    assert told == []


def test_reading_makes_no_folder(past: PastMeasurements, folder: Path, told: list[str]) -> None:
    """Nobody has measured yet, which is no fault; a search without a speed is not kept."""
    past.add(session(measured=()))
    assert past.sessions(MACHINE, WORKLOAD) == []
    assert past.noise(MACHINE) is None
    assert told == []
    assert not folder.exists()


def test_a_store_that_is_switched_off_keeps_nothing() -> None:
    past = PastMeasurements(None)
    past.add(session())
    assert past.sessions(MACHINE, WORKLOAD) == []
    assert past.noise(MACHINE) is None


@pytest.mark.parametrize("other", ["machine", "workload"])
def test_only_the_same_machine_and_workload_count(past: PastMeasurements, other: str) -> None:
    past.add(session(**{other: "another00000"}))
    assert past.sessions(MACHINE, WORKLOAD) == []


def test_the_newest_sessions_come_first_and_are_few(
    past: PastMeasurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order in which they were added, and however many digits their time has."""
    monkeypatch.setattr(past_measurements, "SESSIONS", 2)
    for name, ended in {"b": 9.0, "c": 10.0, "a": 1.0}.items():
        past.add(session(name, ended=ended))
    assert names(past) == ["c", "b"]


def test_the_oldest_searches_give_way(
    past: PastMeasurements, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size is bounded for each machine."""
    monkeypatch.setattr(past_measurements, "MOST_SESSIONS", 2)
    for number, name in enumerate("abc"):
        past.add(session(name, ended=float(number)))
    assert names(past) == ["c", "b"]
    assert len([*folder.rglob("*.json")]) == 2


def test_noise_is_that_of_the_noisier_searches_of_a_machine(past: PastMeasurements) -> None:
    """Whatever was trained in them; those without repeats say nothing, nor those of a busy hour."""
    past.add(session("a", measured=repeated(0.1, 1)))
    past.add(session("b", measured=repeated(0.12, 3), workload="another00000"))
    past.add(session("c"))
    past.add(session("d", measured=repeated(0.9, 9), machine="another00000"))
    past.add(session("e", measured=repeated(0.14, 9), load=0.8))
    found = past.noise(MACHINE)
    assert found
    assert (found.sd, found.degrees) == (pytest.approx(0.12), 4)


@pytest.mark.parametrize(("sd", "expected"), [(0.001, 0.02), (0.6, 0.15)])
def test_noise_is_expected_within_bounds(
    past: PastMeasurements, sd: float, expected: float
) -> None:
    """One wild search, or one that was still, does not set what is expected."""
    past.add(session("a", measured=repeated(sd, 4)))
    assert past.noise(MACHINE) == Noise(sd=expected, degrees=4)


@pytest.mark.parametrize("content", [b"", b"no json", b"\xff\xfe", b'{"id": "a"}'])
def test_what_another_version_wrote_is_ignored(
    past: PastMeasurements, folder: Path, told: list[str], content: bytes
) -> None:
    """Or what was torn: the others count, and nobody is bothered."""
    past.add(session("a"))
    past.add(session("b", ended=2.0))
    max(folder.rglob("*.json")).write_bytes(content)
    assert names(past) == ["a"]
    assert told == []


def test_a_folder_that_cannot_be_used_is_told_once(tmp_path: Path, told: list[str]) -> None:
    """Nothing is kept, and the search is over all the same."""
    (tmp_path / "file").touch()
    past = PastMeasurements(tmp_path / "file", told.append)
    assert past.sessions(MACHINE, WORKLOAD) == []
    past.add(session())
    past.add(session("b"))
    assert len(told) == 1
    assert str(tmp_path / "file") in told[0]
    assert CACHE in told[0]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AUTOTUNE_CACHE": "/mine"}, Path("/mine/searches")),
        ({"AUTOTUNE_CACHE": "mine"}, Path.cwd() / "mine/searches"),
        ({"AUTOTUNE_CACHE": ""}, None),
        ({"AUTOTUNE_CACHE": "off"}, None),
    ],
)
def test_a_variable_names_the_folder(environment: dict[str, str], expected: Path | None) -> None:
    assert measurements_folder(environment) == expected


def test_without_a_word_it_is_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative cache folder is ignored, as its specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert measurements_folder({}) == Path("/cache/autotune/searches")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert measurements_folder({}) == Path.home() / ".cache/autotune/searches"
