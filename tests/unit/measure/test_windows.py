"""When a run has settled."""

from __future__ import annotations

from itertools import pairwise

from autotune.measure import settled_from
from autotune.window import Window


def steady(count: int, *, seconds: float = 0.1, steps: int = 10) -> list[Window]:
    return [Window(steps, seconds)] * count


def test_no_windows_have_not_settled() -> None:
    """Without windows there is no steady state."""
    assert settled_from([]) is None


def test_the_floor_is_always_skipped() -> None:
    """A run that is steady from the start still loses its first windows."""
    assert settled_from(steady(30)) == 6


def test_two_blocks_are_needed() -> None:
    """The state is not called steady before two blocks past the floor agree."""
    answers = [settled_from(steady(n)) for n in range(15)]
    assert answers[:14] == [None] * 14
    assert answers[14] == 6


def test_a_slow_start_is_left_out() -> None:
    """Windows that are still getting faster do not count."""
    slow = [Window(10, 0.1 * (1 + 3 * 0.85**i)) for i in range(20)]
    start = settled_from(slow + steady(12))
    assert start is not None
    assert slow[start].seconds < 0.15


def test_a_run_that_keeps_changing_never_settles() -> None:
    """A rate that falls by a fifth from block to block has no steady state."""
    falling = [Window(10, 0.1 * 1.08**i) for i in range(28)]
    assert settled_from(falling) is None


def test_slow_steps_need_few_windows() -> None:
    """A window of more than a second is a block by itself: one to warm up, two that agree."""
    assert settled_from(steady(2, seconds=2.0, steps=1)) is None
    assert settled_from(steady(3, seconds=2.0, steps=1)) == 1


def test_more_windows_never_unsettle_an_agreement() -> None:
    """What has settled stays settled when windows are added."""
    windows = steady(12) + [Window(10, 0.3)] * 12
    answers = [settled_from(windows[:n]) for n in range(24)]
    assert all(b is not None for a, b in pairwise(answers) if a is not None)
