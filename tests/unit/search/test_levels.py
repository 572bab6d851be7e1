"""Gangs that start at one of two levels."""

from __future__ import annotations

import pytest

from autotune.search.levels import agreeing, has_two_levels, may_be_a_level
from autotune.stats import Estimate

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


def may_be(
    gain: Estimate | None,
    gangs: int,
    *,
    mixed: bool = False,
    singles: int = 12,
    challengers: int = 1,
) -> bool:
    """Ask of a gain over a single device that is known well."""
    return may_be_a_level(gain, gangs, mixed=mixed, singles=singles, challengers=challengers)


def test_a_small_gain_needs_many_gangs_that_agree() -> None:
    """Seven may all be at the higher level; that eight are is too rare."""
    assert may_be(SMALL, 7)
    assert not may_be(SMALL, 8)


def test_the_luckier_of_two_challengers_needs_one_more() -> None:
    """Each of them may have been it."""
    assert may_be(SMALL, 8, challengers=2)
    assert not may_be(SMALL, 9, challengers=2)


def test_a_gain_beyond_all_levels_needs_none() -> None:
    """Even at both levels it is one; a small gain of runs at both never is."""
    assert not may_be(LARGE, 3)
    assert not may_be(LARGE, 3, mixed=True)
    assert may_be(SMALL, 20, mixed=True)


def test_levels_of_one_device_feign_twice_as_much() -> None:
    """Three gangs at the higher level beside three single devices at the lower one are not rare."""
    assert may_be(LARGE, 3, singles=3)
    assert not may_be(LARGE, 4, singles=4)


def test_a_gain_that_nobody_compared_may_be_one() -> None:
    """Without a figure nothing speaks against it."""
    assert may_be(None, 3)
