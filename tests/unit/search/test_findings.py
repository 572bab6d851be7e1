"""How a search came to its verdict, where no distributed configuration is compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result import Verdict
from autotune.result.leaderboard import Leaderboard
from autotune.result.verdict import Decision, VerdictOutcome
from autotune.search.findings import Findings, outcome
from autotune.testing import FAKE_FACTS
from autotune.trial import Stage

from .conftest import ended

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
        "distributable": 1,
        "excluded": frozenset(),
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
