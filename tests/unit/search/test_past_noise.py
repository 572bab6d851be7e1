"""What a search keeps of the noise of a real engine, and what it tells of its load."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import BaseStorage

from autotune.engine.load import Load
from autotune.events import Notice
from autotune.options import SearchOptions
from autotune.past_noise import CACHE, PastNoise, cache_folder
from autotune.result import Result
from autotune.search.tune import TuningRequest, tune
from autotune.stats import EXPECTED
from autotune.testing import FAKE_MACHINE, FakeEngine
from autotune.workload import Workload

from .conftest import SPACE, speed

On = Callable[..., tuple[Result, list[str]]]
MACHINE = FAKE_MACHINE.fingerprint


class Real(FakeEngine):
    """An engine whose timings are worth keeping."""

    keeps_history = True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """The folder of past noise."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return cache_folder()


@pytest.fixture
def on(tmp_path: Path, workload: Workload, kept_in: BaseStorage) -> On:
    """Searches on an engine, and returns what was found and what was told."""

    def run(
        engine: FakeEngine | None = None, *, most: int = 4, **fields: Any
    ) -> tuple[Result, list[str]]:
        events: list[object] = []
        request = TuningRequest(
            workload=workload,
            space=SPACE,
            options=SearchOptions(budget=None, max_trials=most),
            **{"out": tmp_path / "out", "storage": kept_in, **fields},
        )
        result = tune(request, engine or Real(speed(), seed=1), events.append)
        return result, [event.text for event in events if isinstance(event, Notice)]

    return run


def repeats(result: Result, kept: int = 0) -> int:
    """Return how often a search has run something again."""
    measured = [t.configuration for t in result.trials[kept:] if t.measured]
    return len(measured) - len(set(measured))


def test_the_next_search_starts_with_the_noise_of_this_one(on: On, folder: Path) -> None:
    """By its repeats, and it says so."""
    first, told = on(most=9)
    assert [each for each in told if "left out" not in each] == []
    kept = PastNoise(folder).of(MACHINE)
    assert kept
    assert kept.degrees == EXPECTED.degrees + repeats(first)
    _, told = on(most=2)
    assert any(f"run-to-run variation of {kept.sd:.0%}" in each for each in told)


def test_a_resumed_study_is_kept_once(on: On, folder: Path) -> None:
    """Only trials of its own belong to a session: those before were another day's."""
    first, _ = on(most=9)
    second, _ = on(most=14, resume=True)
    assert len(second.trials) > len(first.trials)
    kept = PastNoise(folder).of(MACHINE)
    assert kept
    again = repeats(second, len(first.trials))
    assert kept.degrees == EXPECTED.degrees + repeats(first) + again


def test_a_broken_store_costs_a_sentence(on: On, folder: Path) -> None:
    """The search answers all the same."""
    folder.parent.mkdir()
    folder.write_bytes(b"this is no folder")
    result, told = on()
    assert result.config
    assert any(str(folder) in each for each in told)


def busy(before: float, during: float) -> FakeEngine:
    """Return an engine on which others use so many of two cores before its trials, and then."""
    loads = chain([None, _load(before)], repeat(_load(during)))
    return FakeEngine(speed(), seed=1, load=lambda: next(loads))


def _load(used: float) -> Load:
    return Load(seconds=10, cores=2, busy=used, stolen=0)


def test_a_busy_machine_is_told_before_the_search(on: On) -> None:
    """While it can still be made quiet."""
    result, told = on(busy(1.3, 0.0))
    assert [text for text in told if text.startswith("Other programs use 1.3 of 2 cores")]
    assert not any("During the search" in reason for reason in result.reasons)


def test_a_machine_that_was_busy_is_a_reason(on: On) -> None:
    """It stands among the grounds of the verdict."""
    result, told = on(busy(0.0, 0.7))
    assert [each for each in told if "left out" not in each] == []
    assert "other programs used 0.7 of 2 cores" in result.reasons[-1]


@pytest.mark.usefixtures("folder")
def test_a_search_on_a_fake_engine_leaves_nothing(on: On, tmp_path: Path) -> None:
    """Its timings are of no machine."""
    on(FakeEngine(speed()))
    assert {each.name for each in tmp_path.iterdir()} == {"out"}
