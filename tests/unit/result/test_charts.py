"""The drawings of a result."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autotune.checks.breakdown import Breakdown
from autotune.checks.diagnosis import Diagnosis
from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result import Result, charts
from autotune.result.batches import ITSELF
from autotune.result.view import ResultView
from autotune.stats.gradients import Learning
from autotune.stats.intervals import Interval
from autotune.testing import FAKE_FACTS
from autotune.testing.fake import fake_learning

from .conftest import DIAGNOSED, RESULT, changed, make_trial


def drawn(result: Result) -> charts.Throughput:
    return charts.throughput(ResultView(result).rows)


def place(text: str) -> float:
    return float(text.removesuffix("%"))


def segments(found: charts.Steps, bar: charts.Bar) -> list[tuple[str, float, float]]:
    return [(each.part, place(each.at), place(each.width)) for each in found.segments(bar)]


def length(found: charts.Steps, bar: charts.Bar) -> float:
    return sum(width for _, _, width in segments(found, bar))


def test_the_best_stands_first_and_once() -> None:
    """However often it ran; the faster is farther to the right."""
    found = drawn(RESULT)
    assert [each.entry.configuration.distributed for each in found.rows] == [True, False]
    assert [each.chosen for each in found.rows] == [True, False]
    pair, alone = (found.scale.reach(each.entry.ratio) for each in found.rows)
    assert place(alone.at) < place(pair.at)
    assert place(pair.low) < place(pair.at) < place(pair.high)
    assert alone.low == alone.at == alone.high == found.scale.at(1.0)


def test_marks_differ_by_what_they_stand_for() -> None:
    slow = make_trial(
        9, Configuration(per_replica_batch=7), outcome=Outcome.PRUNED, examples_per_second=10.0
    )
    found = drawn(changed(trials=(*RESULT.trials, slow)))
    assert found.marks == charts.MARKS
    last = found.rows[-1]
    assert charts.mark_of(last.entry) == "pruned"
    assert "pruned" in last.note


def test_what_is_not_drawn_stands_in_a_table() -> None:
    """The drawing has an end, and what others are compared with; each is told once."""
    more = tuple(
        make_trial(i, Configuration(per_replica_batch=i), examples_per_second=float(i))
        for i in range(150, 200)
    )
    found = drawn(changed(trials=(*RESULT.trials, *more)))
    assert len(found.rows) == charts.SHOWN
    assert ITSELF in [each.entry.ratio for each in found.rows]
    told = [each.entry.configuration for each in (*found.rows, *found.rest)]
    assert len(told) == len(set(told)) == 52
    assert found.rest[-1].entry.configuration.per_replica_batch == 150


def test_parts_stand_in_the_order_of_the_table() -> None:
    """The same part comes at the same place in each bar, side by side, as long as its time."""
    found = charts.steps(DIAGNOSED.diagnosis)
    alone, pair = found.bars
    assert length(found, pair) == pytest.approx(100, abs=0.1)
    assert length(found, alone) == pytest.approx(50, abs=0.1)
    assert alone.milliseconds == pytest.approx(500)
    for bar in found.bars:
        mine = [title for title, _, _ in segments(found, bar)]
        assert mine == [part for part in found.parts if part in mine]
        for (_, start, width), (_, following, _) in pairwise(segments(found, bar)):
            assert following == pytest.approx(start + width, abs=0.02)


def test_what_is_not_explained_has_its_place() -> None:
    """What parts leave over fills the bar; where they overlap, it is told and not drawn."""
    alone = DIAGNOSED.diagnosis.one_device
    more = Interval(low=0.2, value=0.25, high=0.3)
    less = Interval(low=-0.3, value=-0.25, high=-0.2)
    lacking = alone.model_copy(update={"shares": alone.shares[:1], "unexplained": more})
    overlap = alone.model_copy(update={"unexplained": less})
    found = charts.steps(Diagnosis(one_device=lacking, distributed=overlap))
    first, second = found.bars
    assert [title for title, _, _ in segments(found, first)] == ["computing", "not explained"]
    assert length(found, first) == pytest.approx(100, abs=0.1)
    assert [title for title, _, _ in segments(found, second)] == ["computing", "waiting for input"]
    assert second.time("not explained") == "-125 ms"


def test_nothing_is_drawn_of_a_step_that_was_not_taken_apart() -> None:
    whole = DIAGNOSED.diagnosis.one_device
    empty = Breakdown(configuration=whole.configuration, milliseconds=3.0, shares=())
    assert charts.steps(None) is None
    assert charts.steps(Diagnosis(one_device=empty)) is None
    found = charts.steps(Diagnosis(one_device=whole))
    assert "only one of the two" in found.sentence


def weighed(learning: Learning | None) -> Result:
    rates = {32: 1000.0, 128: 2000.0, 512: 4000.0}
    trials = [
        make_trial(i, Configuration(per_replica_batch=batch), examples_per_second=rate)
        for i, (batch, rate) in enumerate(rates.items())
    ]
    facts, own = FAKE_FACTS.model_copy(update={"learning": learning}), Configuration()
    return changed(trials=tuple(trials), facts=facts, configuration=own, told={"own": own})


def test_a_batch_is_drawn_by_its_time_to_the_same_loss() -> None:
    """Examples needed over the gain in speed; the own batch takes as long as itself."""
    result = weighed(fake_learning(100.0))
    found = charts.batch_times(result)
    assert [each.arms.batch for each in found.rows] == [32, 128, 512]
    assert found.rows[0].time == ITSELF
    last = found.rows[-1]
    assert last.time.value == pytest.approx(last.needed.value / 4)
    assert last.time.low < last.time.value < last.time.high
    text = result.report()
    assert "32 <small><b>your own</b></small>" in text
    assert text.index("Compared with your own settings") < text.index(
        "Time to the same loss with each batch"
    )


@pytest.mark.parametrize("learning", [None, Learning(batch=32)])
def test_no_batch_is_drawn_where_nothing_is_known(learning: Learning | None) -> None:
    assert charts.batch_times(weighed(learning)) is None
    assert "Time to the same loss with each batch" not in weighed(learning).report()


def test_the_same_factor_is_the_same_distance() -> None:
    """Twice as fast is as far as half as fast; what lies beyond is at the edge."""
    scale = charts.Scale(0.25, 4)
    half, one, twice = (place(scale.at(each)) for each in (0.5, 1, 2))
    assert one - half == pytest.approx(twice - one, abs=0.02)
    assert one == pytest.approx(50)
    assert (place(scale.at(1e-20)), place(scale.at(1e20))) == (charts.EDGE, 100 - charts.EDGE)


@pytest.mark.parametrize(
    ("low", "high"), [(0.98, 1.01), (0.9, 1.4), (0.3, 1.2), (0.02, 1.5), (5, 5000), (1e-3, 9e5)]
)
def test_an_axis_has_some_round_values(low: float, high: float) -> None:
    """Neither none nor too many, none on top of another, and one device among them."""
    scale = charts.scale_for([Interval(low=low, value=(low * high) ** 0.5, high=high)], low, high)
    ticks = scale.ticks()
    places = [place(tick.at) for tick in ticks]
    assert 2 <= len(ticks) <= 7
    assert all(right - left >= charts.APART - 0.02 for left, right in pairwise(places))
    assert ("1" in [tick.text for tick in ticks]) == (scale.low <= 1 <= scale.high)


def test_one_endless_interval_does_not_press_the_figures_together() -> None:
    wide = Interval(low=1e-20, value=1.1, high=1e20)
    scale = charts.scale_for([wide], 1.0)
    assert scale.high < 2
    assert place(scale.reach(wide).high) == 100 - charts.EDGE
