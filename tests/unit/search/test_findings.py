"""How a search came to its verdict, and what it tells of other programs on its machine."""

from __future__ import annotations

from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.events import Event, Notice
from autotune.reason import Outcome
from autotune.result import Verdict
from autotune.result.leaderboard import Leaderboard
from autotune.result.verdict import Decision, VerdictOutcome
from autotune.search.findings import Findings, outcome
from autotune.space import Candidates
from autotune.testing import FAKE_FACTS, FakeEngine
from autotune.trial import Stage

from .conftest import Tuner, ended, speed

ALONE = Configuration()
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2)
CRASHED = (Outcome.CRASHED, None)


def found(verdict: Verdict, *distributed: tuple[Outcome, float | None]) -> VerdictOutcome:
    """Return the outcome of a search with such trials, beside one at 100 on one device."""
    several = (ended(n, PAIR, how, rate) for n, (how, rate) in enumerate(distributed, 1))
    trials = (ended(0, ALONE, stage=Stage.BASELINE), *several)
    known: dict[str, Any] = {
        "decision": Decision(verdict=verdict),
        "history": SimpleNamespace(trials=trials),
        "entries": tuple(Leaderboard(trials).rows()),
        "candidates": Candidates(configurations=(ALONE, PAIR), limits=(), batch_matched={}),
        "facts": FAKE_FACTS,
    }
    return outcome(cast(Findings, SimpleNamespace(**known)))


@pytest.mark.parametrize(
    ("verdict", "distributed", "expected"),
    [
        (Verdict.ONE_DEVICE, [(Outcome.MEASURED, 120.0)], VerdictOutcome.NOT_AHEAD),
        (Verdict.UNDECIDED, [CRASHED, (Outcome.MEASURED, 80.0)], VerdictOutcome.SLOWER_SO_FAR),
        (Verdict.UNDECIDED, [CRASHED, (Outcome.MEASURED, 120.0)], VerdictOutcome.NOT_TRIED),
    ],
)
def test_what_was_slower_is_told_apart_from_what_has_another_batch(
    verdict: Verdict, distributed: list[tuple[Outcome, float | None]], expected: VerdictOutcome
) -> None:
    """A run that was faster at a batch that is not shown to pay was not slower."""
    assert found(verdict, *distributed) is expected


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
