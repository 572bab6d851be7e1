"""What is kept of the noise of past searches, and what is given back."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from autotune import past_noise
from autotune.engine.load import Load
from autotune.past_noise import CACHE, PastNoise, cache_folder, shown_noise
from autotune.stats import Noise

MACHINE = "machine00000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where it is kept, which does not exist yet."""
    return tmp_path / "what? a#folder %20"


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def past(folder: Path, told: list[str]) -> PastNoise:
    return PastNoise(folder, told.append)


def test_reading_makes_no_folder(past: PastNoise, folder: Path, told: list[str]) -> None:
    """Nobody has measured yet, which is no fault; a search without repeats is not kept."""
    past.add(MACHINE, None)
    assert past.of(MACHINE) is None
    assert told == []
    assert not folder.exists()


def test_a_store_that_is_switched_off_keeps_nothing() -> None:
    past = PastNoise(None)
    past.add(MACHINE, Noise(sd=0.05, degrees=3))
    assert past.of(MACHINE) is None


def test_noise_is_that_of_all_searches_of_a_machine(past: PastNoise) -> None:
    """Each weighs by its repeats; another machine has its own."""
    for sd, degrees in ((0.1, 1), (0.12, 3)):
        past.add(MACHINE, Noise(sd=sd, degrees=degrees))
    past.add("another00000", Noise(sd=0.14, degrees=9))
    found = past.of(MACHINE)
    assert found
    assert found.sd == pytest.approx(math.sqrt((4 * 0.06**2 + 0.1**2 + 3 * 0.12**2) / 8))
    assert found.degrees == 8


def test_few_repeats_say_little(past: PastNoise) -> None:
    """A search that was still, or a wild one, does not set what is expected."""
    past.add(MACHINE, Noise(sd=0.001, degrees=2))
    found = past.of(MACHINE)
    assert found
    assert 0.04 < found.sd < 0.06


def test_the_oldest_searches_give_way(past: PastNoise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_noise, "SEARCHES", 2)
    for degrees in (100, 1, 2):
        past.add(MACHINE, Noise(sd=0.04, degrees=degrees))
    found = past.of(MACHINE)
    assert found
    assert found.degrees == 7


@pytest.mark.parametrize("content", [b"", b"no json", b"\xff\xfe", b'{"id": "a"}'])
def test_what_another_version_wrote_is_ignored(
    past: PastNoise, folder: Path, told: list[str], content: bytes
) -> None:
    """Or what was torn: the next search begins anew, and nobody is bothered."""
    past.add(MACHINE, Noise(sd=0.05, degrees=3))
    (folder / f"{MACHINE}.json").write_bytes(content)
    assert past.of(MACHINE) is None
    past.add(MACHINE, Noise(sd=0.04, degrees=1))
    found = past.of(MACHINE)
    assert found
    assert found.degrees == 5
    assert told == []


def test_a_folder_that_cannot_be_used_is_told_once(tmp_path: Path, told: list[str]) -> None:
    """Nothing is kept, and the search is over all the same."""
    (tmp_path / "file").touch()
    past = PastNoise(tmp_path / "file", told.append)
    assert past.of(MACHINE) is None
    past.add(MACHINE, Noise(sd=0.05, degrees=3))
    past.add(MACHINE, Noise(sd=0.05, degrees=3))
    assert len(told) == 1
    assert str(tmp_path / "file") in told[0]
    assert CACHE in told[0]


def test_noise_is_what_repeats_differ_by() -> None:
    """Single runs say nothing of it, nor does an hour in which others used the machine."""
    groups = [[math.log(100.0), math.log(110.0)], [math.log(500.0)]]
    found = shown_noise(groups)
    assert found
    assert (found.sd, found.degrees) == (pytest.approx(0.0674, abs=1e-4), 1)
    assert shown_noise(groups[1:]) is None
    assert shown_noise(groups, Load(seconds=10, cores=2, busy=1.0, stolen=0)) is None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AUTOTUNE_CACHE": "/mine"}, Path("/mine/noise")),
        ({"AUTOTUNE_CACHE": "mine"}, Path.cwd() / "mine/noise"),
        ({"AUTOTUNE_CACHE": ""}, None),
        ({"AUTOTUNE_CACHE": "off"}, None),
    ],
)
def test_a_variable_names_the_folder(environment: dict[str, str], expected: Path | None) -> None:
    assert cache_folder(environment) == expected


def test_without_a_word_it_is_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative cache folder is ignored, as its specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder({}) == Path("/cache/autotune/noise")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_folder({}) == Path.home() / ".cache/autotune/noise"
