"""What a search tells of other programs on its machine."""

from __future__ import annotations

from itertools import chain, repeat

import pytest

from autotune.engine.load import Load
from autotune.events import Event, Notice
from autotune.testing import FakeEngine

from .conftest import Tuner, speed


def _load(used: float) -> Load:
    return Load(seconds=10, cores=2, busy=used, stolen=0)


@pytest.mark.parametrize(
    ("before", "during", "told", "reason"),
    [(1.3, 0.0, ["Other programs use 1.3 of 2 cores"], False), (0.0, 0.7, [], True)],
)
def test_a_busy_machine_is_told(
    tuner: Tuner, before: float, during: float, told: list[str], *, reason: bool
) -> None:
    """Before the search, while it can still be made quiet; else as a reason of the verdict."""
    loads, events = chain([None, _load(before)], repeat(_load(during))), list[Event]()
    engine = FakeEngine(speed(), seed=1, load=lambda: next(loads))
    options = {"budget": None, "max_trials": 4}
    result = tuner(speed(), engine=engine, options=options, observer=events.append)
    texts = [each.text for each in events if isinstance(each, Notice)]
    assert [text[:33] for text in texts] == told
    assert ("other programs used 0.7 of 2 cores" in result.reasons[-1]) is reason
    assert any("During the search" in each for each in result.reasons) is reason
