"""Gangs that start at one of two levels."""

from __future__ import annotations

import pytest

from autotune.search.levels import AT_ONE_LEVEL, agreeing, has_two_levels


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


def test_all_at_the_higher_level_is_rare() -> None:
    """Half of all gangs at each level: so many agree by luck in less than half a percent."""
    assert 0.5**AT_ONE_LEVEL < 0.005
