"""Searches whose truth is known: promises that break show here, at any speed of this machine."""

from __future__ import annotations

from autotune.result import Verdict
from benchmarks.finals.play import Cell, Played, play
from benchmarks.finals.score import FOUND, WRONG, table, worlds
from benchmarks.finals.worlds import DISTURBED, QUIET, World
from benchmarks.share import Share

SEARCHES = 6
"""Few, because the benchmark scores rates."""


def verdicts(world: World, gain: float) -> list[Verdict]:
    cell = Cell(world=world, gain=gain, distributed=1, singles=1)
    return [play(cell, seed).verdict for seed in range(SEARCHES)]


def test_a_gain_of_a_tenth_is_found_at_three_percent() -> None:
    assert verdicts(QUIET[0], 0.10).count(Verdict.DISTRIBUTE) >= SEARCHES - 1


def test_nothing_to_gain_is_seldom_distributed() -> None:
    """Not even where half of all distributed runs start a fifth faster."""
    assert verdicts(DISTURBED[0], 0.0).count(Verdict.DISTRIBUTE) <= SEARCHES / 5


def test_a_share_is_missed_only_beyond_chance() -> None:
    """Two of a hundred may be one percent; forty of two thousand are not."""
    assert WRONG.mark(Share(count=2, of=100)) == "short"
    assert WRONG.mark(Share(count=40, of=2000)) == "SHORT"
    assert WRONG.mark(Share(count=1, of=200)) == ""
    assert FOUND.mark(Share(count=99, of=100)) == ""


def test_what_misleads_is_counted_by_machine_and_in_all() -> None:
    """A search that distributes where nothing is to be gained counts against both."""
    results = {
        Cell(world=world, gain=0.0, distributed=n, singles=n): [
            Played(verdict=verdict, gain_covered=None, rate_covered=True, runs=9)
        ]
        for world, n, verdict in (
            (QUIET[0], 1, Verdict.DISTRIBUTE),
            (QUIET[0], 3, Verdict.ONE_DEVICE),
            (DISTURBED[0], 1, Verdict.ONE_DEVICE),
        )
    }
    assert "| wrong *distribute*, equal | 0 to 1 % | 1 of 3 (" in "\n".join(table(results))
    assert f"| {QUIET[0].name} | 1 of 2 | - | 1 of 2 | - | - |" in [*worlds(results)]
