"""From the windows of a run: when it has settled, and its rate from then on."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
AGREEMENT = 0.10
"""Two adjacent blocks agree when their median rates differ by less than this share."""


class Reading(Value):
    """What the steady windows of one run say."""

    steps_per_second: float
    """Median over the windows: for comparisons, because rare stalls dominate a mean."""
    sustained: float
    """Steps per second over all of that time, stalls included, as in a longer run."""
    error: float
    """Standard error of log(rate) within the run."""
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
    """Return what some steady windows say, at least one.

    The standard error of the median follows from the median absolute deviation: 1.4826 turns that
    into a standard deviation, 1.2533 (the square root of pi/2) is what a median loses against a
    mean, both for a normal distribution.
    """
    logs = [math.log(rate(each)) for each in windows]
    middle = median(logs)
    spread = 1.4826 * median(abs(each - middle) for each in logs)
    return Reading(
        steps_per_second=math.exp(middle),
        sustained=sum(each.steps for each in windows) / sum(each.seconds for each in windows),
        error=1.2533 * spread / math.sqrt(len(logs)),
        windows=len(logs),
        seconds=sum(each.seconds for each in windows),
    )


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
