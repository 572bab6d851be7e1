"""What the default search recommends, as a share of the best that is known."""

import pytest

from autotune.config import Configuration
from autotune.stats.intervals import Interval
from benchmarks.default_space.bench import Again

ONE = Configuration(per_replica_batch=256)
SMALL = Configuration(per_replica_batch=32)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=128)


def test_the_best_is_that_of_all_rounds_and_compared_within_them() -> None:
    """A round that only one of two finished does not count between them."""
    rates = {ONE: {0: 100.0, 1: 200.0}, TWO: {0: 150.0, 1: 300.0, 2: 10.0}, SMALL: {1: 50.0}}
    again = Again(rates=rates)
    assert again.best([ONE, SMALL]) == ONE
    gain = again.gain()
    # Slower in the mean of its own rounds, but not in the shared ones.
    assert gain.value == pytest.approx(1.5)
    assert again.over_one_device(TWO) == gain
    assert again.over_one_device(ONE) == Interval(low=1.0, value=1.0, high=1.0)
    assert again.ratio(SMALL, ONE) is None
    assert again.ratio(ONE, ONE) == Interval(low=1.0, value=1.0, high=1.0)
