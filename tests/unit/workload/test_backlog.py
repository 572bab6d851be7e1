"""What lay ready shows as a bend in the curve of reading."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from autotune.workload.backlog import backlog_of

WAITS = 0.1
"""Seconds between two points."""


def curve(rates: list[float], *, noise: float = 0.0) -> list[tuple[float, float]]:
    """Return what a reader has after each wait, at these examples per second."""
    drawn = random.Random(0)
    read = [rate * WAITS * drawn.gauss(1, noise) for rate in rates]
    return [(n, WAITS * i) for i, n in enumerate(accumulate(read, initial=0.0))]


BEND = [5000.0] * 20 + [1500.0] * 27
"""Two seconds at 5,000 examples a second, where 1,500 go on: 7,000 were ready."""


@pytest.mark.parametrize(
    ("rates", "noise", "ready", "goes_on"),
    [
        pytest.param(BEND + [1500.0] * 3, 0.0, 7000, 1500, id="a bend"),
        pytest.param(BEND + [1500.0] * 3, 0.05, 7000, 1500, id="with noise"),
        pytest.param(BEND + [1000.0] * 3, 0.0, 7000, 1500, id="a busy moment at the end"),
        pytest.param([20_000.0] + [1000.0] * 40, 0.0, 1900, 1000, id="all in the first moment"),
    ],
)
def test_a_bend_is_what_was_ready(
    rates: list[float], noise: float, ready: float, goes_on: float
) -> None:
    found = backlog_of(curve(rates, noise=noise))
    assert found.examples == pytest.approx(ready, rel=0.1)
    assert found.examples_per_second == pytest.approx(goes_on, rel=0.1)


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param([1000.0] * 50, id="straight"),
        pytest.param([200.0 * i for i in range(1, 51)], id="climbs"),
        pytest.param([1200.0] * 20 + [1000.0] * 30, id="within what machines do"),
        pytest.param([5000.0] * 45 + [1500.0] * 5, id="nobody saw it go on"),
        pytest.param([2000.0, 0.0] * 25, id="pauses"),
        pytest.param([3000.0 * 0.95**i for i in range(50)], id="falls on and on"),
        pytest.param([5000.0] * 3 + [1500.0] * 5, id="too short"),
        pytest.param([], id="nothing"),
    ],
)
def test_no_other_curve_bends(rates: list[float]) -> None:
    """A rate that never settles lower than it began tells of no backlog."""
    assert backlog_of(curve(rates)) is None
