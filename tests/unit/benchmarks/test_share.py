"""Shares with Wilson's interval."""

from __future__ import annotations

import pytest

from benchmarks.share import Share


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 200, 0.0, 0.0188), (5, 50, 0.0435, 0.2136), (9, 9, 0.7009, 1)],
)
def test_the_interval_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Share(count=count, of=of).interval == pytest.approx((low, high), abs=1e-4)
