"""The prefetched backlog of an input: what it had ready before anything was read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from autotune.base import Value

FEWEST = 8
"""Points of a curve; fewer do not show where it bends."""
LEAST_SECONDS = 1.0
"""Seconds of reading; less has no tail that shows a steady-state throughput."""
TAILS = (0.45, 0.3, 0.15)
"""Shares of the time at the end that may be in the steady state. The longest is tried first: it
sees the least of what else a machine does meanwhile."""
STEADY = 1.15
"""Largest ratio of the throughputs of the two halves of a steady tail."""
NEARLY = 0.95
"""Share of the backlog that is drained at the bend."""
FASTER = 1.4
"""Least ratio of the throughput of the backlog to that of the steady state."""
SMALL = 0.25
"""Seconds of the steady state; a smaller backlog is drained while a run warms up."""

Point = tuple[float, float]
"""Examples that were read, and the seconds that this took."""


class Backlog(Value):
    """Examples that came faster than the input can go on giving them."""

    examples: float
    """Of them, beyond what it makes meanwhile."""
    examples_per_second: float
    """What it goes on with."""


def backlog_of(curve: Sequence[Point]) -> Backlog | None:
    """Return what a curve of reading shows to have been ready; None where it does not bend."""
    if len(curve) < FEWEST or curve[-1][1] < LEAST_SECONDS:
        return None
    return next(filter(None, (_beyond(curve, share) for share in TAILS)), None)


def _beyond(curve: Sequence[Point], share: float) -> Backlog | None:
    """Return what was ready if the rate of the last share of the time is the one that goes on."""
    end = curve[-1]
    begin, middle = (_at(curve, end[1] * (1 - part)) for part in (share, share / 2))
    early, late, goes_on = _rate(begin, middle), _rate(middle, end), _rate(begin, end)
    ahead = [examples - goes_on * seconds for examples, seconds in curve]
    most = max(ahead)
    if most < SMALL * goes_on:
        return None
    # From the bend on it is flat, and the most of it is somewhere there by chance.
    bend = next(point for point, by in zip(curve, ahead, strict=True) if by >= NEARLY * most)
    steady = 0 < max(early, late) <= STEADY * min(early, late)
    if not steady or bend[1] > begin[1] or _rate((0, 0), bend) < FASTER * goes_on:
        return None
    return Backlog(examples=most, examples_per_second=goes_on)


def _at(curve: Sequence[Point], seconds: float) -> Point:
    return curve[bisect_left(curve, seconds, key=lambda point: point[1])]


def _rate(start: Point, end: Point) -> float:
    seconds = end[1] - start[1]
    return (end[0] - start[0]) / seconds if seconds > 0 else 0.0
