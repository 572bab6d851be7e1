"""The drawing of what batches are worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.report.html.worth import worth
from autotune.result import Result
from autotune.stats.gradients import Learning
from autotune.testing import FAKE_FACTS
from autotune.testing.fake import fake_learning
from autotune.trial import Trial

MakeTrial = Callable[..., Trial]
Changed = Callable[..., Result]
RATES = {32: 1000.0, 128: 2000.0, 512: 4000.0}


@pytest.fixture(name="weighed")
def fixture_weighed(changed: Changed, make_trial: MakeTrial) -> Callable[[Learning], Result]:
    """Returns a result of one device at three batches, with what is known of them."""

    def make(learning: Learning) -> Result:
        trials = [
            make_trial(i, Configuration(per_replica_batch=batch), examples_per_second=rate)
            for i, (batch, rate) in enumerate(RATES.items())
        ]
        own = Configuration()
        facts = FAKE_FACTS.model_copy(update={"learning": learning})
        return changed(trials=tuple(trials), facts=facts, one_device=own, configuration=own)

    return make


def place(text: str) -> float:
    return float(text.removesuffix("%"))


def test_points_stand_by_speed_and_by_what_an_example_teaches(weighed: Any) -> None:
    """A faster one is farther to the right, one that needs more examples is farther down."""
    found = worth(weighed(fake_learning(100.0)))
    assert found is not None
    across = [place(each.x) for each in found.points]
    down = [place(each.y) for each in found.points]
    fastest_first = sorted(across, reverse=True)
    assert across == fastest_first
    assert down == sorted(down, reverse=True)
    assert all(place(each.high) <= place(each.y) <= place(each.low) for each in found.points)


def test_the_dashed_diagonal_goes_through_the_own_batch(weighed: Any) -> None:
    """On it, twice the examples per second need twice the examples."""
    found = worth(weighed(fake_learning(100.0)))
    assert found is not None
    [line] = [each for each in found.lines if each.own]
    own = min(found.points, key=lambda each: place(each.x))
    slope = (place(line.y2) - place(line.y1)) / (place(line.x2) - place(line.x1))
    on_line = place(line.y1) + slope * (place(own.x) - place(line.x1))
    assert place(own.y) == pytest.approx(on_line, abs=0.1)


def test_the_table_says_how_long_it_takes(weighed: Any) -> None:
    """Examples needed over the gain in speed; the own batch takes as long as itself."""
    found = worth(weighed(fake_learning(100.0)))
    assert found is not None
    assert [each.batch for each in found.rows] == [32, 128, 512]
    assert (found.rows[0].time.value, found.rows[0].answer) == (1.0, "your own")
    last = found.rows[-1]
    assert last.time.value == pytest.approx(last.needed.value / 4)
    assert last.time.low < last.time.value < last.time.high


@pytest.mark.parametrize("learning", [None, Learning(batch=32)])
def test_nothing_is_drawn_where_nothing_is_known(weighed: Any, learning: Learning | None) -> None:
    """All points would lie at one height."""
    assert worth(weighed(learning)) is None
    assert "What each batch is worth" not in weighed(learning).report()


def test_the_report_holds_it(weighed: Any) -> None:
    """Drawing and table stand below the throughput."""
    text = weighed(fake_learning(100.0)).report()
    assert text.index("Throughput against one device") < text.index("What each batch is worth")
    assert text.index("What each batch is worth") < text.index("Where the time goes")
