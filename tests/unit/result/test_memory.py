"""The peak of memory and the largest batch."""

from __future__ import annotations

import pytest

from autotune.result.memory import largest_batch

GIB = 2.0**30


def test_memory_grows_with_the_batch() -> None:
    """By a line through what was seen, up to the limit."""
    peaks = {32: 1.1 * GIB, 64: 1.2 * GIB, 128: 1.4 * GIB}
    assert largest_batch(peaks, 11 * GIB) == pytest.approx(3200, rel=0.01)


@pytest.mark.parametrize(
    "peaks", [{}, {32: GIB}, {32: GIB, 64: 1.05 * GIB}, {32: GIB, 64: 0.5 * GIB}]
)
def test_peaks_that_say_nothing_are_not_extrapolated(peaks: dict[int, float]) -> None:
    """Too few, or no growth beyond noise."""
    assert largest_batch(peaks, 11 * GIB) is None
