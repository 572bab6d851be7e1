"""Gangs that start at one of two levels."""

from __future__ import annotations

import pytest

from autotune.measure import Estimate
from autotune.search.levels import agreeing, has_two_levels, may_be_a_level

SMALL = Estimate(mean=0.1, error=0.01, degrees=20.0)
LARGE = Estimate(mean=0.3, error=0.01, degrees=20.0)


@pytest.mark.parametrize(
    ("logs", "expected"),
    [([0.0, 0.01, 0.4], True), ([0.0, 0.15, 0.3], False), ([0.2], False), ([], False)],
)
def test_two_levels_are_a_gap(logs: list[float], expected: bool) -> None:  # noqa: FBT001
    """Runs that spread evenly are noisy; runs with nothing in between have two levels."""
    assert has_two_levels(logs) is expected


def test_every_further_run_at_one_level_counts() -> None:
    """Not the first of a configuration, which agrees with itself, nor one at both levels."""
    alike, both = [0.1] * 4, [0.1, 0.1, 0.5]
    assert agreeing([alike, alike, both], []) == 6


def test_exploring_runs_count_if_all_are_as_expected() -> None:
    """One that is far off shows that there are levels."""
    assert agreeing([[0.0]], [0.02, -0.05, 0.01]) == 2
    assert agreeing([[0.0]], [0.02, -0.05, 0.31]) == 0


def test_a_small_gain_needs_many_gangs_that_agree() -> None:
    """Seven may all be at the higher level; that eight are is too rare."""
    assert may_be_a_level(SMALL, 7, mixed=False)
    assert not may_be_a_level(SMALL, 8, mixed=False)


def test_a_gain_beyond_all_levels_needs_none() -> None:
    """Even at both levels it is one; a small gain of runs at both never is."""
    assert not may_be_a_level(LARGE, 3, mixed=False)
    assert not may_be_a_level(LARGE, 3, mixed=True)
    assert may_be_a_level(SMALL, 20, mixed=True)


def test_a_gain_that_nobody_compared_may_be_one() -> None:
    """Without a figure only the number of gangs speaks."""
    assert may_be_a_level(None, 3, mixed=False)
