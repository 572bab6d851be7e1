"""What a search keeps of a real engine's timings, and what it tells of its load."""

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
from autotune.past_measurements import CACHE, PastMeasurements, measurements_folder
from autotune.result import Result
from autotune.search.history import warm_start
from autotune.search.tune import TuningRequest, tune
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.workload import Workload

from .conftest import SPACE, speed

On = Callable[..., tuple[Result, list[str]]]
MACHINE = FAKE_MACHINE.fingerprint


class Real(FakeEngine):
    """An engine whose timings are worth keeping."""

    keeps_history = True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """The folder of past measurements."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return measurements_folder()


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


def test_a_search_is_kept_for_the_next_one(on: On, folder: Path, workload: Workload) -> None:
    """What it measured, under the fingerprints of machine and workload."""
    result, told = on()
    (found,) = PastMeasurements(folder).sessions(MACHINE, workload.fingerprint(FAKE_FACTS))
    shown = [t.examples_per_second for t in result.trials if t.measured]
    assert [each.examples_per_second for each in found.measured] == shown
    assert [each for each in told if "left out" not in each] == []


def test_the_next_search_starts_from_it(on: On, folder: Path, workload: Workload) -> None:
    """Configurations relative to the best single device, and the machine's noise."""
    result, _ = on(most=9)
    start = warm_start(PastMeasurements(folder), MACHINE, workload.fingerprint(FAKE_FACTS))
    alone = {c: gap for c, gap in start.known.items() if not c.distributed}
    assert max(alone.values()) == 0
    assert set(start.known) == {t.configuration for t in result.trials if t.measured}
    assert start.noise
    measured = [trial.configuration for trial in result.trials if trial.measured]
    assert start.noise.degrees == len(measured) - len(set(measured))


def test_a_resumed_study_is_kept_once(on: On, folder: Path, workload: Workload) -> None:
    """Only trials of its own belong to a session: those before were another day's."""
    first, _ = on()
    second, _ = on(most=6, resume=True)
    found = PastMeasurements(folder).sessions(MACHINE, workload.fingerprint(FAKE_FACTS))
    assert len(second.trials) > len(first.trials)
    kept = [each for session in found for each in session.measured]
    assert len(kept) == len([t for t in second.trials if t.measured])
    assert len(found) == 2


class Edited(Real):
    """The user edits the factories while the search runs."""

    def __init__(self, code: Path) -> None:
        super().__init__(speed())
        self.code = code

    def now(self) -> float:
        """Edit, because it is asked for the time during every trial."""
        if self.requests:
            self.code.write_text("def model_fn(): return 1")
        return super().now()


def test_what_was_timed_is_what_is_kept(folder: Path, tmp_path: Path, workload: Workload) -> None:
    """Code that was edited meanwhile is another workload."""
    code = tmp_path / "digits.py"
    code.write_text("def model_fn(): ...")
    model = workload.model.model_copy(update={"root": str(tmp_path)})
    mine = workload.model_copy(update={"model": model})
    before = mine.fingerprint(FAKE_FACTS)
    request = TuningRequest(
        workload=mine,
        space=SPACE,
        options=SearchOptions(budget=None, max_trials=2),
        out=tmp_path / "o",
    )
    tune(request, Edited(code))
    assert mine.fingerprint(FAKE_FACTS) != before
    assert PastMeasurements(folder).sessions(MACHINE, before)


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
