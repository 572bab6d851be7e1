"""What is believed of a gain that is announced because it is large."""

from __future__ import annotations

import math
import random

import pytest

from autotune.stats import Estimate, believed, rate_of_winner


def test_a_gain_that_is_well_measured_is_believed() -> None:
    """A large gain with a small error stays what it is."""
    found = believed(Estimate(mean=math.log(1.75), error=0.01, degrees=10))
    assert found.value == pytest.approx(1.75, rel=0.005)


def test_a_gain_that_is_hardly_seen_is_believed_in_part() -> None:
    """Half as much again at an error of a fifth says rather a little."""
    found = believed(Estimate(mean=math.log(1.5), error=0.2, degrees=10))
    assert 1.0 < found.value < 1.3
    assert found.low < 1.0
    assert found.high > 1.5


@pytest.mark.parametrize(("error", "least"), [(0.01, 0.93), (0.03, 0.93), (0.06, 0.93)])
def test_what_is_announced_covers_the_truth(error: float, least: float) -> None:
    """Of gains of a tenth those are looked at that came out at three errors or more."""
    draw = random.Random(1)
    seen = [draw.gauss(0.0953, error) for _ in range(2500)]
    announced = [believed(Estimate(x, error, 200.0)) for x in seen if x > 3 * error]
    covered = sum(each.low <= 1.1 <= each.high for each in announced)
    assert len(announced) > 80
    assert covered / len(announced) >= least


def test_the_rate_of_a_winner_gives_up_its_part_of_the_luck() -> None:
    """What the gain is thought to be less, both sides share by their noise."""
    gain = Estimate(mean=math.log(1.5), error=0.2, degrees=10)
    rate = Estimate(mean=math.log(1000), error=0.14, degrees=10)
    found = rate_of_winner(rate, gain, 0.5)
    assert found.value == pytest.approx(1000 * math.sqrt(believed(gain).value / 1.5))
    assert found.low < found.value < found.high
