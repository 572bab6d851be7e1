"""What the default search recommends, as a share of the best that is known."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.stats.intervals import Interval
from benchmarks.default_space.bench import Again
from benchmarks.default_space.rows import Row, Searched, figures

ONE = Configuration(per_replica_batch=256)
SMALL = Configuration(per_replica_batch=32)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=128)


def searched(
    share: float | None,
    *,
    busy: int = 0,
    trained_busy: int = 0,
    distributes: Interval | None = None,
) -> Searched:
    interval = None if share is None else Interval(low=share, value=share, high=share)
    return Searched(
        busy=busy,
        trained_busy=trained_busy,
        said="one device: batch 256",
        trials=9,
        share=interval,
        distributes=distributes is not None,
        over_one_device=distributes,
    )


def row(*searches: Searched, looked_at: bool = False) -> Row:
    return Row(
        commit="aaa1111",
        workload="pairs",
        looked_at=looked_at,
        configurations=1296,
        best="one device, batch 256",
        gain=None,
        compared=5,
        rounds=4,
        searches=searches,
    )


def test_quiet_and_busy_machines_have_goals_of_their_own() -> None:
    rows = [row(searched(0.96), searched(0.9, busy=1)), row(searched(0.97), searched(None, busy=1))]
    text = "\n".join(figures(rows))
    assert "| quiet | quiet | median share | >= 95% | 96.5% | 2 | reached |" in text
    assert "| 1 core busy | quiet | median share | >= 95% | 45.0% | 2 | short |" in text
    assert "| 1 core busy | quiet | lowest share | >= 80% | 0.0% | 2 | short |" in text
    assert "does not run" in text


def test_a_verdict_to_distribute_is_held_against_the_best_known_of_one_device() -> None:
    """It is wrong if significantly slower; a tie is neither wrong nor granted."""
    slower, tie, faster = (
        Interval(low=low, value=low + 0.05, high=low + 0.1) for low in (0.8, 0.95, 1.2)
    )
    rows = [row(searched(0.9, distributes=each)) for each in (slower, tie, faster)]
    text = "\n".join(figures([*rows, row(searched(0.5))]))
    assert "| quiet | quiet | *distribute*, significantly slower | 0 | 1 | 3 | short |" in text
    assert "| quiet | quiet | *distribute*, significantly faster | | 1 | 3 | |" in text
    text = "\n".join(figures([row(searched(0.9, distributes=tie))]))
    assert "| quiet | quiet | *distribute*, significantly slower | 0 | 0 | 1 | reached |" in text
    assert "*distribute*" not in "\n".join(figures([row(searched(0.5))]))


def test_what_a_change_was_made_for_counts_towards_no_goal() -> None:
    """Its figures are on the page all the same, and say so."""
    text = "\n".join(figures([row(searched(0.96)), row(searched(0.5), looked_at=True)]))
    assert "| quiet | quiet | lowest share | >= 80% | 96.0% | 1 | reached |" in text
    assert "| pairs (looked at) | quiet | quiet | 0.5 (0.5 to 0.5) |" in text
    assert "goal" not in "\n".join(figures([row(searched(0.5), looked_at=True)]))


def test_the_best_is_that_of_all_rounds_and_compared_within_them() -> None:
    """A round that only one of two finished does not count between them."""
    rates = {ONE: {0: 100.0, 1: 200.0}, TWO: {0: 150.0, 1: 300.0, 2: 10.0}, SMALL: {1: 50.0}}
    again = Again(rates=rates)
    assert again.best([ONE, SMALL]) == ONE
    gain = again.gain()
    # Slower in the mean of its own rounds, but not in the shared ones.
    assert gain.value == pytest.approx(1.5)
    assert again.over_one_device(TWO) == gain
    assert again.over_one_device(ONE) == Interval(low=1.0, value=1.0, high=1.0)
    assert again.ratio(SMALL, ONE) is None
    assert again.ratio(ONE, ONE) == Interval(low=1.0, value=1.0, high=1.0)
