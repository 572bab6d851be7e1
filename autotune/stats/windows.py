"""From the windows of a run: when it is stationary, and its rate from then on.

What is known of its epochs before it begins tells what its windows have to hold.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean, median
from typing import NamedTuple

from autotune.base import Value
from autotune.shared_values import Window

BLOCK_SECONDS = 0.4
"""Of a block of windows: the least that tells a rate. A measurement is some of them."""


class Epoch(Value):
    """An epoch, in steps of the run, and what lies at its ends."""

    steps: float = math.inf
    """Of a whole epoch; infinite where nobody knows."""
    ready: float = 0.0
    """Steps whose examples may be ready when the run begins, or that have to pass before its
    caches are filled."""
    pause: float = 0.0
    """Seconds for which the input alone waited as it began again, longer than between examples."""
    eventful: bool = False
    """Whether its end may cost something that a run has to see."""


UNKNOWN = Epoch()
"""An epoch of which nothing is known."""


class Reading(Value):
    """What the steady windows of one run say."""

    steps_per_second: float
    """Steps over time, stalls included, as in a longer run."""
    error: float
    """Standard error of log(steps_per_second), by the scatter within the run."""
    seconds: float


def steady_from(windows: Sequence[Window], epoch: Epoch = UNKNOWN) -> int | None:
    """Return the index of the first window that counts, or None while there is none.

    From there on the rate is stationary, and neither climbs nor falls.
    """
    start = warmed_up_from(windows, epoch)
    while start is not None and (trend := trend_of(windows[start:])) and trend.drifts:
        start += 1 + (len(windows) - start) // 8
        middle = _block_end(windows, start)
        start = start if middle and _block_end(windows, middle) else None
    return start


def warmed_up_from(windows: Sequence[Window], epoch: Epoch = UNKNOWN) -> int | None:
    """Return the index of the first window after the warm-up, or None while there is none.

    The warm-up is complete with the first of two adjacent blocks, past the floor, whose medians
    agree.
    """
    start = past_floor(windows, epoch)
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


def read(windows: Sequence[Window], epoch: Epoch = UNKNOWN) -> Reading:
    """Return what some steady windows say, at least one.

    The end of an epoch counts as often as in a whole training: where the windows are at least an
    epoch, whole epochs of them are taken; of fewer, those around an end are taken by themselves.
    """
    whole, seconds = _whole_epochs(windows, epoch.steps), _joined(windows).seconds
    pace, error = _by_epochs(windows, epoch) or (rate(_joined(whole)), _error(whole))
    return Reading(steps_per_second=pace, error=error, seconds=seconds)


def _by_epochs(windows: Sequence[Window], epoch: Epoch) -> tuple[float, float] | None:
    """Return rate and error of an epoch with one end; None if the windows do not tell them."""
    at = [index for index, window in enumerate(windows) if window.ends]
    # Neighbours count: the input does not begin anew quite where the training counts an end.
    around = {i for end in at for i in (end - 1, end, end + 1) if 0 <= i < len(windows)}
    between = [window for index, window in enumerate(windows) if index not in around]
    if not around or len(between) < len(around) or math.isinf(epoch.steps):
        return None
    pace, ending = rate(_joined(between)), _joined([windows[index] for index in around])
    ends = sum(window.ends for window in windows)
    cost = (ending.seconds - ending.steps / pace) / ends
    seconds = epoch.steps / pace + cost
    # The cost of one end may differ by a fifth from that of another.
    share = 0.2 * cost / seconds / math.sqrt(ends)
    return epoch.steps / seconds, math.hypot(_error(between), share)


def _whole_epochs(windows: Sequence[Window], steps: float) -> Sequence[Window]:
    """Return the last windows that make whole epochs; all of them if they make none."""
    total = sum(each.steps for each in windows)
    spare = total % steps if total >= steps else 0
    for index, window in enumerate(windows):
        if spare < window.steps / 2:
            return windows[index:]
        spare -= window.steps
    return windows


def _joined(windows: Sequence[Window]) -> Window:
    return Window(sum(each.steps for each in windows), sum(each.seconds for each in windows))


def _error(windows: Sequence[Window]) -> float:
    """Return the relative standard error of steps over time, by stretches of several lengths.

    Slow windows come in groups, and steps that a wait has delayed are made up for in the next
    window. Where neighbours resemble each other, only longer stretches show how much the mean
    scatters.
    """
    several, error = list(windows), _scatter(windows)
    while len(several) >= 8:  # Fewer than four stretches say little of how much they scatter.
        several = [_joined(several[i : i + 2]) for i in range(0, len(several), 2)]
        error = max(error, _scatter(several))
    return error


def _scatter(windows: Sequence[Window]) -> float:
    """Return the relative standard error of a ratio of two sums, of independent windows."""
    whole, count = _joined(windows), len(windows)
    if count < 2:
        return 0.0
    squares = sum((each.seconds - each.steps / rate(whole)) ** 2 for each in windows)
    return math.sqrt(squares * count / (count - 1)) / whole.seconds


def past_floor(windows: Sequence[Window], epoch: Epoch = UNKNOWN) -> int:
    """Return the index of the first window past the warm-up and past what a start had ready.

    The first windows still hold tracing, allocation, and tf.data's own tuning. For five seconds at
    the most a run is taken to live on what was ready before it began.
    """
    elapsed, steps = 0.0, 0
    for index, window in enumerate(windows):
        if elapsed >= 0.6 and (elapsed >= 5.0 or steps >= epoch.ready):
            return index
        elapsed += window.seconds
        steps += window.steps
    return len(windows)


def _block_end(windows: Sequence[Window], start: int) -> int | None:
    """Return the end of the shortest block of three windows, or of few that are long.

    A long window has averaged over its stalls itself.
    """
    elapsed = 0.0
    for index in range(start, len(windows)):
        elapsed += windows[index].seconds
        several = index + 1 - start >= 3 and elapsed >= BLOCK_SECONDS
        if several or elapsed >= 1.0:
            return index + 1
    return None


def _agree(first: Sequence[Window], second: Sequence[Window]) -> bool:
    """Return whether two blocks run alike.

    Epochs of two windows make blocks of three unlike: every other block has two windows with an
    end. Blocks that both have one agree as well if their windows without one do.
    """
    if _alike(first, second):
        return True
    both = all(any(each.ends for each in block) for block in (first, second))
    return both and _alike(_between_ends(first), _between_ends(second))


def _alike(first: Sequence[Window], second: Sequence[Window]) -> bool:
    """Return whether the median rates of two blocks differ by less than a tenth."""
    ratio = median(map(rate, first)) / median(map(rate, second))
    return abs(math.log(ratio)) < 0.10


def _between_ends(block: Sequence[Window]) -> Sequence[Window]:
    """Return the windows of a block in which no epoch ends; all where one does in each."""
    return [each for each in block if not each.ends] or block


class Trend(NamedTuple):
    """A straight line through the logarithms of the rates."""

    per_second: float
    error: float
    """Standard error of that slope."""
    seconds: float
    """Between the middles of the first and of the last window."""

    @property
    def drifts(self) -> bool:
        """Whether the rate changes beyond chance, and by more than 1.5 % from end to end."""
        slope = abs(self.per_second)
        return slope > 2.0 * self.error and slope * self.seconds > 0.015


def trend_of(windows: Sequence[Window]) -> Trend | None:
    """Return the trend of some windows, None if they are too few to tell it from chance."""
    if len(windows) < 4:
        return None
    ends = accumulate((each.seconds for each in windows), initial=0.0)
    times = [end + each.seconds / 2 for end, each in zip(ends, windows, strict=False)]
    logs = [math.log(rate(each)) for each in windows]
    mean, mean_log = fmean(times), fmean(logs)
    spread = sum((at - mean) ** 2 for at in times)
    slope = sum((at - mean) * log for at, log in zip(times, logs, strict=True)) / spread
    residuals = [log - mean_log - slope * (at - mean) for at, log in zip(times, logs, strict=True)]
    variance = sum(each**2 for each in residuals) / (len(windows) - 2)
    return Trend(slope, math.sqrt(variance / spread), times[-1] - times[0])
