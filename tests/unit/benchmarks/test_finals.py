"""Searches whose truth is known: promises that break show here, at any speed of this machine."""

from __future__ import annotations

import random

import pytest

from autotune.result import Verdict
from autotune.search import posterior
from benchmarks.finals.play import Cell, Played, play
from benchmarks.finals.score import FOUND, WRONG, table, worlds
from benchmarks.finals.worlds import DISTURBED, QUIET, Disturbance, World
from benchmarks.share import Share

SEARCHES = 6
"""Few, because the benchmark scores rates."""


def verdicts(world: World, gain: float) -> list[Verdict]:
    """What searches between two configurations say."""
    cell = Cell(world=world, gain=gain, distributed=1, singles=1)
    return [play(cell, seed).verdict for seed in range(SEARCHES)]


def test_a_gain_of_a_tenth_is_found_at_three_percent() -> None:
    """In nearly every search."""
    assert verdicts(QUIET[0], 0.10).count(Verdict.DISTRIBUTE) >= SEARCHES - 1


@pytest.mark.parametrize("world", [QUIET[1], DISTURBED[0]])
def test_nothing_to_gain_is_seldom_distributed(world: World) -> None:
    """Not even where half of all distributed runs start a fifth faster."""
    assert verdicts(world, 0.0).count(Verdict.DISTRIBUTE) <= SEARCHES / 5


def first_stalls(_: random.Random) -> Disturbance:
    """The first distributed run loses half of its speed, and no other."""
    stalls = iter([-0.8])
    return lambda distributed: next(stalls, 0.0) if distributed else 0.0


def test_a_first_run_that_stalls_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs again, and what it gains is found."""
    monkeypatch.setattr(posterior, "WALKERS", 128)  # as many as a search has
    world = World(name="unlucky", one_device=0.01, distributed=0.01, disturbed=first_stalls)
    assert set(verdicts(world, 0.1)) == {Verdict.DISTRIBUTE}


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
