"""Whether enough was tried to say that nothing distributed is worth it."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.reason import Measured, Outcome
from autotune.search.coverage import may_gain
from autotune.search.history import History
from autotune.search.surrogate import Expectations
from autotune.trial import Stage, Trial

BATCHES = (32, 64, 128, 256)
ALONE = [Configuration(per_replica_batch=batch) for batch in BATCHES]
PAIRS = [each.but(strategy="mirrored", replicas_per_worker=2) for each in ALONE]


def expectations(tried: int, factor: float) -> Expectations:
    """Return what all single devices let expect, and the first pairs at a multiple of them."""
    rates = dict.fromkeys(ALONE, 1000.0) | dict.fromkeys(PAIRS[:tried], 1000.0 * factor)
    trials = [
        Trial(
            number=number,
            stage=Stage.EXPLORE if each.distributed else Stage.BASELINE,
            configuration=each,
            outcome=Outcome.MEASURED,
            reason=Measured(),
            examples_per_second=rate,
        )
        for number, (each, rate) in enumerate(rates.items())
    ]
    return Expectations(History(trials), [*ALONE, *PAIRS])


@pytest.mark.parametrize(
    ("tried", "factor", "expected"),
    [(1, 0.95, True), (3, 0.5, False)],
    ids=["one tried, nearly as fast", "three tried, half as fast"],
)
def test_one_device_needs_that_nothing_else_is_likely(
    tried: int,
    factor: float,
    expected: bool,  # noqa: FBT001
) -> None:
    """Where little was tried close to the margin, another may pass it; far below, none will."""
    assert may_gain(expectations(tried, factor), PAIRS[tried:], 0.03) is expected


def test_where_all_were_tried_nothing_is_left() -> None:
    """What was measured is judged by the finals."""
    assert not may_gain(expectations(4, 0.99), [], 0.03)
