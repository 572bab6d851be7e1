"""When a run has settled, and its rate from then on."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from autotune.plain import Window
from autotune.stats import read, warmed_up_from

COVERED = 0.85
"""Of intervals of 95 %: two dozen windows say little of how far they resemble each other."""


def steady(count: int, *, seconds: float = 0.1, steps: int = 10) -> list[Window]:
    return [Window(steps, seconds)] * count


def test_no_windows_have_not_settled() -> None:
    """Without windows there is no steady state."""
    assert warmed_up_from([]) is None


def test_the_floor_is_always_skipped() -> None:
    """A run that is steady from the start still loses its first windows."""
    assert warmed_up_from(steady(30)) == 6


def test_two_blocks_are_needed() -> None:
    """The state is not called steady before two blocks past the floor agree."""
    answers = [warmed_up_from(steady(n)) for n in range(15)]
    assert answers[:14] == [None] * 14
    assert answers[14] == 6


def test_a_slow_start_is_left_out() -> None:
    """Windows that are still getting faster do not count."""
    slow = [Window(10, 0.1 * (1 + 3 * 0.85**i)) for i in range(20)]
    start = warmed_up_from(slow + steady(12))
    assert start is not None
    assert slow[start].seconds < 0.15


def test_a_run_that_keeps_changing_never_settles() -> None:
    """A rate that falls by a fifth from block to block has no steady state."""
    falling = [Window(10, 0.1 * 1.08**i) for i in range(28)]
    assert warmed_up_from(falling) is None


@pytest.mark.parametrize("seconds", [0.15, 0.2, 0.3, 0.4, 0.6])
def test_short_epochs_settle(seconds: float) -> None:
    """Epochs of two windows, of which the second ends it slowly, are steady from the start."""
    epochs = [Window(2, seconds), Window(2, 1.8 * seconds, ends=1)] * 8
    start = warmed_up_from(epochs)
    assert start is not None
    assert start <= 4
    assert read(epochs[start : start + 8]).steps_per_second == pytest.approx(4 / 2.8 / seconds)


def test_slow_steps_need_few_windows() -> None:
    """A window of more than a second is a block by itself: one to warm up, two that agree."""
    assert warmed_up_from(steady(2, seconds=2.0, steps=1)) is None
    assert warmed_up_from(steady(3, seconds=2.0, steps=1)) == 1


def test_more_windows_never_unsettle_an_agreement() -> None:
    """What has settled stays settled when windows are added."""
    windows = steady(12) + [Window(10, 0.3)] * 12
    answers = [warmed_up_from(windows[:n]) for n in range(24)]
    assert all(b is not None for a, b in pairwise(answers) if a is not None)


def test_a_rate_is_steps_over_time() -> None:
    """A stall counts with the time that it took, as it would in a longer run."""
    windows = [Window(10, 0.1)] * 8 + [Window(10, 1.2)]
    assert read(windows).steps_per_second == pytest.approx(90 / 2.0)


def test_a_stall_is_uncertain() -> None:
    """Who has seen one stall in nine windows does not know how often they come."""
    windows = [Window(10, 0.1)] * 8 + [Window(10, 1.2)]
    assert read(steady(9)).error == pytest.approx(0)
    assert read(windows).error > 0.4


def test_windows_of_unequal_length_count_by_their_time() -> None:
    """The same steps in the same time say the same, however they are cut into windows."""
    fine = [Window(1, 0.1), Window(1, 0.3)] * 8
    coarse = [Window(2, 0.4)] * 8
    assert read(fine).steps_per_second == pytest.approx(read(coarse).steps_per_second)


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_the_error_covers_the_truth(memory: float) -> None:
    """Two standard errors hold the true rate, also where slow windows come in groups."""
    draw = random.Random(3)
    held = 0
    for _ in range(500):
        reading = read(_wandering(draw, memory, count=24))
        held += abs(math.log(reading.steps_per_second / 100)) < 2.1 * reading.error
    assert held / 500 >= COVERED


def _wandering(draw: random.Random, memory: float, *, count: int) -> list[Window]:
    """Return windows of 100 steps a second in the mean, each resembling the one before."""
    level, windows = 0.0, []
    for _ in range(count):
        level = memory * level + draw.gauss(0, 0.1)
        windows.append(Window(10, 0.1 * (1 + level)))
    return windows
