"""The geometry of the drawing."""

from __future__ import annotations

import pytest

from autotune.api.http.page.chart import Mark, chart
from autotune.config import Configuration
from autotune.reason import Message
from autotune.run.engine import Outcome
from autotune.trial import Stage, Trial

PAIR = Configuration(strategy="mirrored", replicas_per_worker=2)


def trial(number: int, rate: float | None, **changes: object) -> Trial:
    """Return a trial."""
    fields = {
        "number": number,
        "stage": Stage.BASELINE,
        "configuration": Configuration(),
        "outcome": Outcome.MEASURED if rate else Outcome.FAILED,
        "reason": Message(text="so"),
        "examples_per_second": rate,
    }
    return Trial.model_validate({**fields, **changes})


@pytest.mark.parametrize("rates", [[1.0], [0.003, 0.001], [9_051.0, 6_374.0, 1.0], [1e9]])
@pytest.mark.parametrize("width", [350, 860])
def test_all_points_lie_within(rates: list[float], width: float) -> None:
    """Whatever the figures are."""
    trials = [trial(number, rate) for number, rate in enumerate(rates)]
    drawn = chart("c", trials, max(rates), width)
    for point in drawn.points:
        assert drawn.left < point.x < drawn.right
        assert drawn.top <= point.y <= drawn.zero
    assert 2 <= len(drawn.rates) <= 7
    assert drawn.line
    assert drawn.line.at == min(point.y for point in drawn.points)


def test_a_faster_trial_is_higher_and_a_later_one_further_right() -> None:
    """The axes are as one expects."""
    first, second = chart("c", [trial(0, 10.0), trial(1, 20.0)], None, 350).points
    assert second.y < first.y
    assert second.x > first.x


def test_what_has_no_figure_lies_below_zero() -> None:
    """So that nobody takes a failure for a speed of zero."""
    drawn = chart("c", [trial(0, None)], None, 350)
    assert drawn.points[0].y > drawn.zero


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({}, Mark.ALONE),
        ({"configuration": PAIR}, Mark.DISTRIBUTED),
        ({"outcome": Outcome.PRUNED, "configuration": PAIR}, Mark.PRUNED),
        ({"outcome": Outcome.SKIPPED}, Mark.SKIPPED),
        ({"outcome": Outcome.CRASHED}, Mark.FAILED),
        ({"outcome": Outcome.UNSTABLE}, Mark.FAILED),
    ],
)
def test_each_fate_has_its_mark(changes: dict[str, object], mark: Mark) -> None:
    """No two look alike."""
    assert chart("c", [trial(0, 5.0, **changes)], None, 350).points[0].mark is mark


def test_the_stages_share_the_width() -> None:
    """Each where its trials are; a title only where it fits."""
    stages = [Stage.BASELINE] * 20 + [Stage.FINAL]
    trials = [trial(number, 5.0, stage=stage) for number, stage in enumerate(stages)]
    drawn = chart("c", trials, None, 350)
    assert [band.title for band in drawn.bands] == ["One device", ""]
    assert sum(band.width for band in drawn.bands) == pytest.approx(drawn.right - drawn.left, 0.01)


def test_later_trials_alone_keep_their_numbers() -> None:
    """Of a long search only the end is drawn."""
    drawn = chart("c", [trial(number, 5.0) for number in range(600, 1000)], None, 860)
    assert drawn.points[0].x < drawn.points[-1].x <= drawn.right
    assert {tick.text for tick in drawn.numbers} >= {"600", "700"}
