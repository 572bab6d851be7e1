"""What a search tells of other programs on its machine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path

import pytest
from optuna.storages import BaseStorage

from autotune.engine.load import Load
from autotune.events import Notice
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.search.tune import TuningRequest, tune
from autotune.testing import FakeEngine
from autotune.workload import Workload

from .conftest import SPACE, speed

On = Callable[[FakeEngine], tuple[Result, list[str]]]


@pytest.fixture
def on(tmp_path: Path, workload: Workload, kept_in: BaseStorage) -> On:
    """Searches on an engine, and returns what was found and what was told."""

    def run(engine: FakeEngine) -> tuple[Result, list[str]]:
        events: list[object] = []
        request = TuningRequest(
            workload=workload,
            space=SPACE,
            options=SearchOptions(budget=None, max_trials=4),
            out=tmp_path / "out",
            storage=kept_in,
        )
        result = tune(request, engine, events.append)
        return result, [event.text for event in events if isinstance(event, Notice)]

    return run


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
