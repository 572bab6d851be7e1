"""Where a search stands, by the runs of each configuration."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.reason import Message, Outcome
from autotune.result.leaderboard import ITSELF, Leaderboard

from .conftest import ALONE, PAIR, TRIALS, make_trial


def test_all_runs_of_a_configuration_count() -> None:
    """A lucky first run is one of three; the best stands first."""
    first, second = Leaderboard(TRIALS).rows()
    assert (first.configuration, second.configuration) == (PAIR, ALONE)
    assert first.examples_per_second.value == pytest.approx((1500 * 1400 * 1450) ** (1 / 3))
    assert first.speedup.low < 1.4 < first.speedup.high
    assert first.repeated
    assert second.speedup == ITSELF


def test_a_pruned_trial_shows_what_it_had_shown() -> None:
    """It has a figure and keeps its outcome, and is never the baseline."""
    leaderboard = Leaderboard((make_trial(0, outcome=Outcome.PRUNED),))
    (row,) = leaderboard.rows()
    assert row.outcome is Outcome.PRUNED
    assert row.speedup is None
    assert leaderboard.baseline is None


def test_a_run_that_was_stopped_does_not_count_beside_a_whole_one() -> None:
    stopped = make_trial(1, outcome=Outcome.PRUNED, examples_per_second=10.0)
    (row,) = Leaderboard((make_trial(0), stopped)).rows()
    assert (row.examples_per_second.value, row.runs) == (pytest.approx(1000), 1)
    assert row.outcome is Outcome.MEASURED


@pytest.mark.parametrize("configuration", [ALONE, PAIR])
def test_what_failed_a_check_is_not_the_best(configuration: Configuration) -> None:
    failed = {"outcome": Outcome.REJECTED, "examples_per_second": None}
    check = make_trial(1, configuration, reason=Message(text="It drifts."), **failed)
    leaderboard = Leaderboard((make_trial(0, configuration), check))
    (row,) = leaderboard.rows()
    assert row.outcome is Outcome.REJECTED
    assert leaderboard.best(distributed=configuration.distributed) is None
