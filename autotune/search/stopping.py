"""When to stop: a run that has shown enough, and a search that has spent its budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from autotune.engine.base import Stop
from autotune.options import SearchOptions
from autotune.plain import Window
from autotune.reason import BudgetEnded, Measured, NotStationary, Outcome, Slower
from autotune.search.pruner import HALF_SECONDS
from autotune.stats import (
    UNKNOWN,
    Epoch,
    past_floor,
    read,
    steady_from,
    trend_of,
    warmed_up_from,
)

MEASURE_SECONDS = 0.8
"""Steady time that is enough: more would not help, because fresh runs differ by more."""
MEASURE_WINDOWS = 5
LONG_SECONDS = 1.6
"""Steady time that is enough with two windows: slow steps make long ones."""
CALLS = 4
"""Windows that are needed where a long one is a call of several steps: two that agree, and so seem
steady, may do so by chance, and fewer show no trend; ..."""
CALLS_SECONDS = 6.0
"""... but for no longer than this."""
PRECISE = 0.03
"""Standard error within a run that is good enough: fresh runs differ by more."""
PATIENCE = 3.0
"""Steady seconds after which a run is taken as it is, though it may still be less precise: runs of
twelve seconds differ from each other as much as runs of three."""
AHEAD = 3.0
"""Steady seconds within which the end of an epoch is waited for; ..."""
AHEAD_IN_REPEATS = 8.0
"""... the same for a run that decides."""
STATIONARY_SECONDS = 2.4
"""Steady time of a run whose rate has moved before: what becomes ever slower hides in less."""
OVERTIME_SECONDS = 5.0
"""A run that is nearly measured when the budget ends may take so much longer."""
SETTLE_SECONDS = 20.0
"""Ceiling of the warm-up; a run of slow steps gets `SETTLE_WINDOWS` windows at least."""
SETTLE_WINDOWS = 12
CLIMB_SECONDS = 3.0
"""For so long a run is believed to go on climbing as it did, before it is called slower."""
CLIMB_ERRORS = 1.5
"""Standard errors by which a run may climb more steeply than it seems to."""


class Report(Protocol):
    """Takes what a run has shown so far; see `MeasureWatch`."""

    def __call__(self, step: int, score: float, *, error: float, climb: float) -> float | None:
        """Return None, or why it is to be stopped."""
        ...


class MeasureWatch:
    """Stops a run when it is measured, will not settle, or is certainly slower than one device.

    Args:
        score: How good a run of so many steps per second is.
        report: Is told what the run has shown every half second, and returns None, or, if it is to
            be stopped, an upper bound of its share of one device's score.
        left: Tells how many seconds of the budget are left.
        epoch: What is known of the run's epochs.
        ahead: Steady seconds within which the end of an epoch is waited for.
    """

    def __init__(
        self,
        score: Callable[[float], float | None] = float,
        *,
        report: Report | None = None,
        left: Callable[[], float] = lambda: math.inf,
        epoch: Epoch = UNKNOWN,
        ahead: float = AHEAD,
    ) -> None:
        self._score = score
        self._report = report
        self._reported = 0
        self._left = left
        self._epoch = epoch
        self._ahead = ahead

    def __call__(self, windows: Sequence[Window]) -> Stop | None:
        """Decide on all windows so far."""
        start = steady_from(windows, self._epoch)
        if start is not None and self._shown(windows, start):
            return Stop(Outcome.MEASURED, Measured())
        if self._left() < -OVERTIME_SECONDS:
            return Stop(Outcome.UNFINISHED, BudgetEnded())
        return self._prune(windows) or (_unstable(windows) if start is None else None)

    def _shown(self, windows: Sequence[Window], start: int) -> bool:
        """Whether a run has shown enough."""
        steady = windows[start:]
        if not enough(steady):
            return False
        reading = read(steady, self._epoch)
        took = sum(window.seconds for window in windows)
        if took >= SETTLE_SECONDS or self._left() <= 0:
            return True
        has_moved = start != warmed_up_from(windows, self._epoch)
        stationary = reading.seconds >= STATIONARY_SECONDS or not has_moved
        precise = reading.error <= PRECISE or reading.seconds >= PATIENCE
        return stationary and precise and not self._awaits_end(steady)

    def _awaits_end(self, steady: Sequence[Window]) -> bool:
        """Whether the end of an epoch is near that costs something and was not seen."""
        whole = read(steady)
        near = self._epoch.steps / whole.steps_per_second <= self._ahead
        ended = whole.seconds >= self._ahead or any(each.ends for each in steady)
        return self._epoch.eventful and near and not ended

    def _prune(self, windows: Sequence[Window]) -> Stop | None:
        warm = windows[past_floor(windows, self._epoch) :]
        step = int(HALF_SECONDS * sum(window.seconds for window in warm))
        trend = trend_of(warm)
        if self._report is None or step <= self._reported or not trend:
            return None
        self._reported = step
        reading = read(warm)
        score = self._score(reading.steps_per_second)
        climb = max(trend.per_second + CLIMB_ERRORS * trend.error, 0.0) * CLIMB_SECONDS
        most = score and self._report(step, score, error=reading.error, climb=min(climb, 50.0))
        return Stop(Outcome.PRUNED, Slower(most=most)) if most else None


def enough(steady: Sequence[Window]) -> bool:
    """Return whether the steady windows make a measurement."""
    elapsed = sum(window.seconds for window in steady)
    of_calls = any(window.steps > 1 for window in steady) and elapsed < CALLS_SECONDS
    few = len(steady) >= (CALLS if of_calls else 2) and elapsed >= LONG_SECONDS
    return few or (len(steady) >= MEASURE_WINDOWS and elapsed >= MEASURE_SECONDS)


def _unstable(windows: Sequence[Window]) -> Stop | None:
    seconds = sum(window.seconds for window in windows)
    if seconds < SETTLE_SECONDS or len(windows) < SETTLE_WINDOWS:
        return None
    return Stop(Outcome.UNSTABLE, NotStationary(seconds=seconds))


class Budget:
    """Time and trials that a search may still spend.

    Args:
        options: Holds the bounds.
        now: The engine's clock, so that a virtual machine has virtual time.
        began: When the search began, by that clock; what is left from now on is for trials.
        held: Tells the seconds that are kept for others.
        zero: When the engine's clock was zero, in seconds since 1970; None: by the clock of now.
    """

    def __init__(
        self,
        options: SearchOptions,
        now: Callable[[], float],
        began: float,
        held: Callable[[], float] = lambda: 0.0,
        zero: float | None = None,
    ) -> None:
        # One for all parts of a search, which would otherwise place their runs differently in time.
        # To the second: fractions would be rounded differently from search to search.
        self.zero = float(round(time.time() - now())) if zero is None else zero
        self._options = options
        self._now = now
        self._began = began
        self._held = held
        # What the preparation took is nobody's share.
        self._prepared = self.elapsed

    def within(self, options: SearchOptions, held: Callable[[], float]) -> Budget:
        """Return the budget of those who may spend all but some seconds of this one.

        Args:
            options: Hold the number of trials.
            held: Tells these seconds, which may change as more is known.
        """
        return Budget(options, self._now, self._began, held, self.zero)

    def take_held(self) -> bool:
        """Take the seconds that are kept for others, for good; return whether there were any."""
        held, self._held = self._held(), lambda: 0.0
        return held > 0

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self._now() - self._began

    @property
    def whole(self) -> float:
        """Seconds in all, the preparation left out; infinite without a bound."""
        whole = self._options.budget
        return math.inf if whole is None else whole - self._held() - self._prepared

    @property
    def left(self) -> float:
        """Seconds left; infinite without a bound."""
        return self.whole + self._prepared - self.elapsed

    @property
    def unspent(self) -> float:
        """Seconds left with those that are kept for others; infinite without a bound."""
        whole = self._options.budget
        return math.inf if whole is None else whole - self.elapsed
