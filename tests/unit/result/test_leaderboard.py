"""Where a search stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result import Result
from autotune.result.leaderboard import Leaderboard
from autotune.trial import Stage, Trial

MakeTrial = Callable[..., Trial]
ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)


def test_nothing_is_known_at_first() -> None:
    """Without trials there is no best and no baseline."""
    leaderboard = Leaderboard(())
    assert leaderboard.baseline is None
    assert leaderboard.best(distributed=False) is None
    assert leaderboard.entries(final=False) == []


def test_finals_are_compared_with_finals(trials: tuple[Trial, ...]) -> None:
    """A finalist's lucky figure from the exploration does not count."""
    best = Leaderboard(trials).best(distributed=True)
    assert best
    assert best.final
    assert best.examples_per_second.value == pytest.approx((1400 * 1450) ** 0.5)
    assert best.speedup
    assert best.speedup.low < 1.4 < best.speedup.high


def test_one_throughput_is_told_of_what_is_recommended(result: Result) -> None:
    """The table says what the head of the page says, not the finals' rounds alone."""
    rows = {row.configuration: row for row in result.finalists}
    assert rows[result.config].examples_per_second == result.examples_per_second


def test_exploration_is_compared_with_exploration(trials: tuple[Trial, ...]) -> None:
    """Before the finals a ratio is of two explored figures, and its interval counts both."""
    row = next(r for r in Leaderboard(trials).entries(final=False) if r.configuration == PAIR)
    assert row.speedup
    assert row.speedup.value == pytest.approx(1.5)
    wider = (
        row.speedup.high / row.speedup.value
        > row.examples_per_second.high / row.examples_per_second.value
    )
    assert wider


def test_the_best_single_device_is_once_itself(trials: tuple[Trial, ...]) -> None:
    """Compared with itself, the baseline is exactly 1."""
    row = Leaderboard(trials).best(distributed=False)
    assert row
    assert row.speedup
    assert (row.speedup.low, row.speedup.value, row.speedup.high) == (1, 1, 1)


def test_finals_are_not_compared_before_the_baseline_ran_in_them(make_trial: MakeTrial) -> None:
    """The first run of a round has nothing to be compared with."""
    final = make_trial(2, PAIR, stage=Stage.FINAL, round=0)
    leaderboard = Leaderboard((make_trial(0), make_trial(1, PAIR), final))
    assert leaderboard.speedup_of(final) is None
    assert not leaderboard.in_finals


def test_finals_are_compared_from_their_second_round_on(make_trial: MakeTrial) -> None:
    """Even if exploration took another single device for the best, which is not in them."""
    other = Configuration(per_replica_batch=32)
    explored = make_trial(0), make_trial(1, other, examples_per_second=900.0)
    rounds = [
        make_trial(2 + 2 * n + i, c, stage=Stage.FINAL, round=n)
        for n in range(2)
        for i, c in enumerate((other, PAIR))
    ]
    assert not Leaderboard((*explored, *rounds[:2])).in_finals
    leaderboard = Leaderboard((*explored, *rounds))
    assert leaderboard.in_finals
    assert leaderboard.speedup_of(rounds[-1]) == pytest.approx(1.0)


def test_a_few_lucky_finals_do_not_make_a_baseline(make_trial: MakeTrial) -> None:
    """Who dropped out of the finals early is not the best single device."""
    other = Configuration(per_replica_batch=32)
    rounds = [make_trial(i, stage=Stage.FINAL, round=i) for i in range(3)]
    lucky = make_trial(3, other, stage=Stage.FINAL, round=0, examples_per_second=5000.0)
    assert Leaderboard((*rounds, lucky)).final_baseline == ALONE


def test_a_pruned_trial_shows_what_it_had_shown(make_trial: MakeTrial) -> None:
    """It has a figure and keeps its outcome, and is never the baseline."""
    pruned = make_trial(0, outcome=Outcome.PRUNED)
    leaderboard = Leaderboard((pruned,))
    assert leaderboard.entries(final=False)[0].outcome is Outcome.PRUNED
    assert leaderboard.baseline is None
    assert leaderboard.entries(final=False)[0].speedup is None


def test_who_did_not_run_in_the_finals_is_no_finalist(trials: tuple[Trial, ...]) -> None:
    """Comparing what was explored leaves the finals as they are."""
    leaderboard = Leaderboard(trials[:2])
    assert len(leaderboard.entries(final=False)) == 2
    assert leaderboard.finalists == []
