"""When a run has settled, and its rate from then on."""

import math
import random
from itertools import accumulate, pairwise

import pytest
from scipy.stats import linregress

from autotune.shared_values import Window
from autotune.stats.windows import read, steady_from, trend_of, warmed_up_from

COVERED = 0.85
"""Of intervals of 95 %: two dozen windows say little of how far they resemble each other."""


def steady(count: int, *, seconds: float = 0.1, steps: int = 10) -> list[Window]:
    return [Window(steps, seconds)] * count


def test_two_blocks_are_needed() -> None:
    """The state is not called steady before two blocks past the floor agree.

    A run that is steady from the start still loses its first windows.
    """
    answers = [warmed_up_from(steady(n)) for n in range(15)]
    assert answers[:14] == [None] * 14
    assert answers[14] == warmed_up_from(steady(30)) == 6


def test_a_slow_start_is_left_out() -> None:
    slow = [Window(10, 0.1 * (1 + 3 * 0.85**i)) for i in range(20)]
    start = warmed_up_from(slow + steady(12))
    assert slow[start].seconds < 0.15


def test_a_run_that_keeps_changing_never_settles() -> None:
    falling = [Window(10, 0.1 * 1.08**i) for i in range(28)]
    assert warmed_up_from(falling) is None


@pytest.mark.parametrize("seconds", [0.15, 0.2, 0.3, 0.4, 0.6])
def test_short_epochs_settle(seconds: float) -> None:
    epochs = [Window(2, seconds), Window(2, 1.8 * seconds, ends=1)] * 8
    start = warmed_up_from(epochs)
    assert start <= 4
    assert read(epochs[start : start + 8]).steps_per_second == pytest.approx(4 / 2.8 / seconds)


def test_slow_steps_need_few_windows() -> None:
    """A window of more than a second is a block by itself: one to warm up, two that agree."""
    assert warmed_up_from(steady(2, seconds=2.0, steps=1)) is None
    assert warmed_up_from(steady(3, seconds=2.0, steps=1)) == 1


def test_more_windows_never_unsettle_an_agreement() -> None:
    windows = steady(12) + [Window(10, 0.3)] * 12
    answers = [warmed_up_from(windows[:n]) for n in range(24)]
    assert all(b is not None for a, b in pairwise(answers) if a is not None)


def test_a_trend_is_the_line_of_least_squares() -> None:
    """Through the logarithms of the rates at the middles of the windows, of four at least."""
    draw = random.Random(0)
    windows = [Window(draw.randint(90, 110), draw.uniform(0.1, 0.4)) for _ in range(12)]
    ends = [*accumulate(each.seconds for each in windows)]
    middles = [end - each.seconds / 2 for end, each in zip(ends, windows, strict=True)]
    line = linregress(middles, [math.log(each.steps / each.seconds) for each in windows])
    expected = (line.slope, line.stderr, middles[-1] - middles[0])
    assert trend_of(windows) == pytest.approx(expected)
    assert trend_of(windows[:3]) is None
    assert trend_of(windows[:4]) is not None


@pytest.mark.parametrize(("count", "start"), [(30, 16), (20, None)])
def test_a_run_counts_from_where_it_no_longer_drifts(count: int, start: int | None) -> None:
    """An eighth of the rest is left out at a time; where it drifts to the end it never counts."""
    slowing = [Window(10, 0.1 * (1.2 - 0.02 * min(i, 15))) for i in range(count)]
    assert warmed_up_from(slowing) is not None
    assert steady_from(slowing) == start


def test_a_stall_is_uncertain() -> None:
    windows = [Window(10, 0.1)] * 8 + [Window(10, 1.2)]
    assert read(windows).steps_per_second == pytest.approx(90 / 2.0)
    assert read(steady(9)).error == pytest.approx(0)
    assert read(windows).error > 0.4


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
