"""The tables of the report, and their bars."""

from typing import Any

import pytest

from autotune.checks.breakdown import Breakdown
from autotune.checks.scaling import Diagnosis
from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result import Result, html
from autotune.result.view import ResultView
from autotune.stats.intervals import Interval

from .conftest import DIAGNOSED, RESULT, changed, make_trial


def drawn(result: Result) -> dict[str, Any]:
    return html._throughput(ResultView(result).rows)


def test_the_best_stands_first_and_once() -> None:
    """However often it ran."""
    found = drawn(RESULT)
    assert [each.entry.configuration.distributed for each in found["rows"]] == [True, False]
    assert [each.chosen for each in found["rows"]] == [True, False]
    assert found["longest"] == found["rows"][0].entry.ratio.high


def test_a_run_that_was_stopped_early_is_marked_as_such() -> None:
    slow = make_trial(
        9, Configuration(per_replica_batch=7), outcome=Outcome.PRUNED, examples_per_second=10.0
    )
    assert "pruned" in drawn(changed(trials=(*RESULT.trials, slow)))["rows"][-1].note


def test_what_is_not_drawn_stands_in_a_table() -> None:
    """The drawing has an end, and what others are compared with; each is told once."""
    more = tuple(
        make_trial(i, Configuration(per_replica_batch=i), examples_per_second=float(i))
        for i in range(150, 200)
    )
    found = drawn(changed(trials=(*RESULT.trials, *more)))
    assert len(found["rows"]) == html.MOST_BARS
    assert Interval(low=1.0, value=1.0, high=1.0) in [each.entry.ratio for each in found["rows"]]
    told = [each.entry.configuration for each in (*found["rows"], *found["rest"])]
    assert len(told) == len(set(told)) == 52
    assert found["rest"][-1].entry.configuration.per_replica_batch == 150


def test_a_step_is_told_by_its_parts() -> None:
    """In one order for both steps, as the time of a thousand examples."""
    found = html._steps(DIAGNOSED.diagnosis)
    assert found
    alone, pair = found["steps"]
    assert alone.milliseconds == pytest.approx(500)
    assert [alone.time(share.value) for share in alone.shares.values()] == ["375", "125"]
    assert found["parts"][:2] == ["computing", "waiting for input"]
    assert {*found["parts"]} == {*alone.shares, *pair.shares}
    assert found["longest"] == pytest.approx(500)


def test_the_unexplained_time_of_a_step_has_its_row() -> None:
    """Where the parts overlap it is negative, and has no bar."""
    alone = DIAGNOSED.diagnosis.one_device
    less = Interval(low=-0.3, value=-0.25, high=-0.2)
    found = html._steps(Diagnosis(one_device=alone.model_copy(update={"unexplained": less})))
    assert found
    assert found["parts"][-1] == "not explained"
    assert found["steps"][0].time(less.value) == "-125"


def test_nothing_is_shown_of_a_step_that_was_not_taken_apart() -> None:
    whole = DIAGNOSED.diagnosis.one_device
    empty = Breakdown(configuration=whole.configuration, milliseconds=3.0, shares=())
    assert html._steps(None) is None
    assert html._steps(Diagnosis(one_device=empty)) is None
    found = html._steps(Diagnosis(one_device=whole))
    assert found
    assert "only one of the two" in found["sentence"]


def test_one_endless_interval_does_not_press_the_bars_together() -> None:
    """A bar begins at zero, and twice the figure is twice as long."""
    wide = Interval(low=1e-20, value=1.1, high=1e20)
    first, *others = RESULT.answer.entries
    entries = (first.model_copy(update={"ratio": wide}), *others)
    longest = drawn(changed(told={"entries": entries}))["longest"]
    assert longest < 2
    assert html.percent_of(wide.high, longest) == "100.00%"
    assert html.percent_of(-1.0, longest) == "0.00%"
    half, whole = (float(html.percent_of(each, 4).rstrip("%")) for each in (1, 2))
    assert whole == pytest.approx(2 * half)
