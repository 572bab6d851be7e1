"""The benchmark that compares the curves of the digits example."""

from __future__ import annotations

import pytest

from benchmarks.curves.bench import OWN, TUNED, seconds_to, told

CURVE = [(1.0, 0.5), (2.0, 0.9), (3.0, 1.0)]


@pytest.mark.parametrize(("target", "seconds"), [(0.4, 1.0), (0.7, 1.5), (0.95, 2.5), (1.1, None)])
def test_an_accuracy_is_reached_between_two_looks(target: float, seconds: float | None) -> None:
    """Before the first look, nobody knows more than that look."""
    assert seconds_to(CURVE, target) == (seconds and pytest.approx(seconds))


def test_the_page_says_what_was_not_reached() -> None:
    """No ratio follows then."""
    low = [(1.0, 0.5), (2.0, 0.6)]
    lines = list(told({OWN: [CURVE, low], TUNED: [CURVE, CURVE]}))
    assert any("your own: not reached from 1 of 2 seeds" in line for line in lines)
    assert "times as soon" not in lines[-1]
