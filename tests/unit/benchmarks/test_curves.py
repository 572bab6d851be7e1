"""The benchmark that compares the curves of the digits example."""

from __future__ import annotations

import pytest

from benchmarks.curves.bench import seconds_to

CURVE = [(1.0, 0.5), (2.0, 0.9), (3.0, 1.0)]


@pytest.mark.parametrize(("target", "seconds"), [(0.4, 1.0), (0.7, 1.5), (0.95, 2.5), (1.1, None)])
def test_an_accuracy_is_reached_between_two_looks(target: float, seconds: float | None) -> None:
    """Before the first look, nobody knows more than that look."""
    assert seconds_to(CURVE, target) == (seconds and pytest.approx(seconds))
