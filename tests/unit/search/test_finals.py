"""Whom the challengers are compared with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from autotune.config import Configuration
from autotune.search.finalists import Finalists
from autotune.search.finals import Finals
from autotune.search.history import Observed
from autotune.stats import Noise

FIRST, LATE = Configuration(per_replica_batch=64), Configuration(per_replica_batch=128)
GANG = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


class Measured:
    """What all runs let expect of two single devices, of which the second is better by a share."""

    def __init__(self, by: float) -> None:
        self._by = by

    def measured(self, *, distributed: bool, finals: bool) -> dict[Configuration, Observed]:
        """Return both."""
        assert not distributed
        assert finals
        return {FIRST: Observed(4.0, 0.02), LATE: Observed(4.0 + self._by, 0.02)}


def finals(by: float) -> Finals:
    """Return finals with one single device, in which nobody has run."""
    finalists = Finalists(one_device=(FIRST,), challengers=(), default=None)
    nothing = cast("Any", None)
    history = SimpleNamespace(
        scores=lambda _: (), noise_in_finals=lambda **_: Noise(sd=0.03, degrees=9.0)
    )
    return Finals(
        cast("Any", SimpleNamespace(history=history)),
        nothing,
        finalists,
        nothing,
        expectations=cast("Any", Measured(by)),
        unknown_match=lambda _: None,
        margin=0.03,
        seed=0,
    )


@pytest.mark.parametrize(("by", "baseline"), [(0.01, FIRST), (0.05, LATE)])
def test_who_joined_late_has_to_be_clearly_better(by: float, baseline: Configuration) -> None:
    """A new baseline throws away the rounds in which it had not joined."""
    some = finals(by)
    some._scores[FIRST] = dict.fromkeys(range(9), 50.0)
    some._scores[LATE] = dict.fromkeys(range(6, 9), 50.0)
    assert some.baseline == baseline
    del some._scores[LATE][6]
    assert some.baseline == FIRST


def test_a_new_baseline_has_to_be_outdone_too() -> None:
    """A challenger that has beaten another single device has not beaten this one."""
    some = finals(by=0.2)
    some._scores[FIRST] = dict.fromkeys(range(9), 50.0)
    some._scores[LATE] = dict.fromkeys(range(6, 9), 61.0)
    some._scores[GANG] = dict.fromkeys(range(9), 61.0)
    some._passed, some._outdone = GANG, FIRST
    assert some.baseline == LATE
    assert some._doubts(GANG) == [LATE]
