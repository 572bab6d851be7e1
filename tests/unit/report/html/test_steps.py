"""Where the time of a step goes, as bars."""

from __future__ import annotations

import pytest

from autotune.diagnose.breakdown import Breakdown
from autotune.diagnose.diagnosis import Diagnosis
from autotune.report.html.steps import steps
from autotune.result import Result


def place(text: str) -> float:
    return float(text.removesuffix("%"))


def test_bars_are_as_long_as_the_time_for_as_many_examples(diagnosed: Result) -> None:
    """A step of twice the time with as many examples is twice as long; its parts fill it."""
    found = steps(diagnosed.diagnosis)
    assert found
    alone, pair = found.bars
    assert sum(place(each.width) for each in pair.segments) == pytest.approx(100, abs=0.1)
    assert sum(place(each.width) for each in alone.segments) == pytest.approx(50, abs=0.1)
    assert alone.whole == "500 ms"


def test_parts_stand_in_the_order_of_the_table(diagnosed: Result) -> None:
    """The same part comes at the same place in each bar, side by side with the next."""
    found = steps(diagnosed.diagnosis)
    assert found
    kinds = [kind for kind, _ in found.parts]
    for bar in found.bars:
        mine = [each.kind for each in bar.segments]
        assert mine == [kind for kind in kinds if kind in mine]
        for one, following in zip(bar.segments, bar.segments[1:], strict=False):
            ends = place(one.start) + place(one.width)
            assert place(following.start) == pytest.approx(ends, abs=0.02)


def test_nothing_is_drawn_of_a_step_that_was_not_taken_apart(diagnosed: Result) -> None:
    """A breakdown without shares is no bar."""
    assert diagnosed.diagnosis
    whole = diagnosed.diagnosis.one_device
    empty = Breakdown(configuration=whole.configuration, milliseconds=3.0, shares=())
    assert steps(None) is None
    assert steps(Diagnosis(one_device=empty)) is None
    found = steps(Diagnosis(one_device=whole))
    assert found
    assert "only one of the two" in found.sentence
