"""From the windows of a run: when it has settled, and its rate from then on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from autotune.value import Value
from autotune.window import Window

WARM_UP_SECONDS = 0.6
"""Floor: the first windows still hold tracing, allocation, and tf.data's own tuning."""
BLOCK_SECONDS = 0.4
BLOCK_WINDOWS = 3
"""A block is the shortest stretch that is at least this long in both measures, ..."""
LONG_SECONDS = 1.0
"""... or this long, however few its windows: a long window has averaged over its stalls itself."""
LEAST_BATCHES = 4
"""Fewer stretches than these say little of how much they scatter."""
AGREEMENT = 0.10
"""Two adjacent blocks agree when their median rates differ by less than this share."""


class Reading(Value):
    """What the steady windows of one run say."""

    steps_per_second: float
    """Steps over time, stalls included, as in a longer run."""
    error: float
    """Standard error of log(steps_per_second), by the scatter within the run."""
    windows: int
    seconds: float


def settled_from(windows: Sequence[Window]) -> int | None:
    """Return the index of the first window of the steady state, or None while there is none.

    The state is steady from the first of two adjacent blocks, past the floor, whose medians agree.
    """
    start = _past_floor(windows)
    while True:
        middle = _block_end(windows, start)
        end = middle and _block_end(windows, middle)
        if middle is None or end is None:
            return None
        if _agree(windows[start:middle], windows[middle:end]):
            return start
        start += 1


def rate(window: Window) -> float:
    """Return steps per second."""
    return window.steps / window.seconds


def read(windows: Sequence[Window]) -> Reading:
    """Return what some steady windows say, at least one."""
    whole = _joined(windows)
    return Reading(
        steps_per_second=rate(whole),
        error=max(map(_error, _batches(windows)), default=0.0),
        windows=len(windows),
        seconds=whole.seconds,
    )


def _joined(windows: Sequence[Window]) -> Window:
    return Window(sum(each.steps for each in windows), sum(each.seconds for each in windows))


def _batches(windows: Sequence[Window]) -> Iterator[Sequence[Window]]:
    """Yield the windows, then joined by two, by four, and so on while there are enough.

    Slow windows come in groups, and steps that a wait has delayed are made up for in the next
    window. Where neighbours resemble each other, only longer stretches show how much the mean
    scatters.
    """
    several = list(windows)
    while len(several) >= LEAST_BATCHES:
        yield several
        several = [_joined(several[i : i + 2]) for i in range(0, len(several), 2)]


def _error(windows: Sequence[Window]) -> float:
    """Return the relative standard error of steps over time: that of a ratio of two sums."""
    whole, count = _joined(windows), len(windows)
    squares = sum((each.seconds - each.steps / rate(whole)) ** 2 for each in windows)
    return math.sqrt(squares * count / (count - 1)) / whole.seconds


def _past_floor(windows: Sequence[Window]) -> int:
    elapsed = 0.0
    for index, window in enumerate(windows):
        if elapsed >= WARM_UP_SECONDS:
            return index
        elapsed += window.seconds
    return len(windows)


def _block_end(windows: Sequence[Window], start: int) -> int | None:
    elapsed = 0.0
    for index in range(start, len(windows)):
        elapsed += windows[index].seconds
        several = index + 1 - start >= BLOCK_WINDOWS and elapsed >= BLOCK_SECONDS
        if several or elapsed >= LONG_SECONDS:
            return index + 1
    return None


def _agree(first: Sequence[Window], second: Sequence[Window]) -> bool:
    ratio = median(map(rate, first)) / median(map(rate, second))
    return abs(math.log(ratio)) < AGREEMENT
