"""Finals whose truth is known: promises that break show here, at any speed of this machine."""

from __future__ import annotations

import itertools
import random

import pytest

from autotune.result import Verdict
from benchmarks.finals.play import Cell, Played, play
from benchmarks.finals.score import FOUND, WRONG, Row
from benchmarks.finals.worlds import DISTURBED, QUIET, Disturbance, World

FINALS = 60


def finals(world: World, gain: float, count: int = FINALS) -> list[Played]:
    cell = Cell(world=world, gain=gain, distributed=1, singles=1)
    return [play(cell, seed) for seed in range(count)]


def test_a_gain_of_a_tenth_is_found_at_three_percent() -> None:
    """In nineteen of twenty finals."""
    found = [each.verdict for each in finals(QUIET[0], 0.10)]
    assert found.count(Verdict.DISTRIBUTE) >= 0.95 * FINALS


@pytest.mark.parametrize("world", [QUIET[1], DISTURBED[0]], ids=lambda world: world.name)
def test_nothing_to_gain_is_not_distributed(world: World) -> None:
    """Not even where half of all distributed runs start a fifth faster."""
    found = [each.verdict for each in finals(world, 0.0)]
    assert found.count(Verdict.DISTRIBUTE) <= 2


def unlucky(scatter: float) -> World:
    """Return a world whose first distributed run stalls, and whose single devices scatter."""

    def disturbed(_: random.Random) -> Disturbance:
        stalls, turns = iter([-0.8]), itertools.cycle([-scatter, scatter])
        return lambda distributed: next(stalls, 0.0) if distributed else next(turns)

    return World(name="unlucky", one_device=0.01, distributed=0.01, disturbed=disturbed)


def test_who_was_left_out_runs_again_where_runs_scatter() -> None:
    """One run each told that it was surely slower, and repeats tell that no run is so sure."""
    assert {each.verdict for each in finals(unlucky(0.2), 0.1, 10)} == {Verdict.UNDECIDED}
    assert {each.verdict for each in finals(unlucky(0.0), 0.1, 10)} == {Verdict.ONE_DEVICE}


def test_a_share_is_missed_only_beyond_chance() -> None:
    """Two of a hundred may be one percent; forty of two thousand are not."""
    cell = Cell(world=QUIET[0], gain=0.0, distributed=1, singles=1)
    few = Row(goal=WRONG, cell=cell, hits=2, of=100)
    many = Row(goal=WRONG, cell=cell, hits=40, of=2000)
    assert (few.mark, many.mark) == ("short", "SHORT")
    assert Row(goal=FOUND, cell=cell, hits=99, of=100).mark == ""
