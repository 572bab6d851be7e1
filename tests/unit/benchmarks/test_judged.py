"""A figure that excludes the truth is wrong, and so is one that is not told."""

from __future__ import annotations

import pytest

from autotune import Breakdown
from autotune.checks.breakdown import Part, Share
from autotune.config import Configuration
from autotune.stats import Interval
from benchmarks.judged.claims import Claim, milliseconds


def claim(said: Interval | None) -> Claim:
    return Claim(what="computing, ms", said=said, low=50.0, high=60.0)


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (Interval(low=48, value=52, high=56), True),
        (Interval(low=58, value=70, high=90), True),
        (Interval(low=61, value=70, high=90), False),
        (Interval(low=30, value=40, high=49), False),
        (None, False),
    ],
)
def test_a_figure_is_right_where_it_meets_the_truth(said: Interval | None, right: bool) -> None:  # noqa: FBT001 - a case
    assert claim(said).holds is right
    assert ("WRONG" in str(claim(said))) is not right


def test_a_share_is_told_in_milliseconds() -> None:
    """Of a step of 80 ms three quarters are 60; what was not told apart is nothing."""
    share = Share(part=Part.COMPUTE, share=Interval(low=0.5, value=0.75, high=1.0))
    found = Breakdown(configuration=Configuration(), milliseconds=80.0, shares=(share,))
    assert milliseconds(found, Part.COMPUTE) == Interval(low=40, value=60, high=80)
    assert milliseconds(found, Part.INPUT) is None
    assert milliseconds(None, Part.INPUT) is None
