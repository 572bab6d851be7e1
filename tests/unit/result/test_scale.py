"""Places in a drawing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autotune.result.scale import APART, EDGE, Scale, scale_for
from autotune.stats import Interval


def place(text: str) -> float:
    return float(text.removesuffix("%"))


def test_the_same_factor_is_the_same_distance() -> None:
    """Twice as fast is as far from one device as half as fast."""
    scale = Scale(0.25, 4)
    half, one, twice = (place(scale.at(each)) for each in (0.5, 1, 2))
    assert one - half == pytest.approx(twice - one, abs=0.02)
    assert one == pytest.approx(50)


def test_nothing_is_drawn_outside() -> None:
    """What lies beyond the axis ends at its edge."""
    scale = Scale(0.5, 2)
    assert place(scale.at(1e-20)) == EDGE
    assert place(scale.at(1e20)) == 100 - EDGE


@pytest.mark.parametrize(
    ("low", "high"), [(0.98, 1.01), (0.9, 1.4), (0.3, 1.2), (0.02, 1.5), (5, 5000), (1e-3, 9e5)]
)
def test_an_axis_has_some_round_values(low: float, high: float) -> None:
    """Neither none nor too many, none on top of another, and one device among them."""
    scale = scale_for([Interval(low=low, value=(low * high) ** 0.5, high=high)], low, high)
    ticks = scale.ticks()
    places = [place(tick.at) for tick in ticks]
    assert 2 <= len(ticks) <= 7
    assert all(right - left >= APART - 0.02 for left, right in pairwise(places))
    assert ("1" in [tick.text for tick in ticks]) == (scale.low <= 1 <= scale.high)


def test_one_endless_interval_does_not_press_the_figures_together() -> None:
    """The axis shows the figures; an interval beyond them is cut off."""
    wide = Interval(low=1e-20, value=1.1, high=1e20)
    scale = scale_for([wide], 1.0)
    assert scale.high < 2
    assert place(scale.reach(wide).high) == 100 - EDGE
