"""When to stop: a run that has shown enough or is slower than one device, and a search.

What interrupts a search is no reason to lose what it has found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from optuna import Study
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial

from autotune.disk import is_of_a_folder
from autotune.engine.base import Stop
from autotune.options import SearchOptions
from autotune.reason import BudgetEnded, Outcome, PlainReason, ReasonKind
from autotune.shared_values import Window
from autotune.stats.intervals import EXPECTED, t_quantile
from autotune.stats.windows import (
    BLOCK_SECONDS,
    UNKNOWN,
    Epoch,
    past_floor,
    read,
    steady_from,
    trend_of,
    warmed_up_from,
)

PATIENCE = 3.0
"""Steady seconds after which a run is measured, even if it is less precise: runs of twelve seconds
differ from each other as much as runs of three. A run waits as long for the end of an epoch, and
its trend is assumed to go on as long."""
PATIENCE_IN_REPEATS = 8.0
"""Seconds for which a run that decides waits for the end of an epoch."""
GRACE = 5.0
"""Seconds past the budget in which what is under way may still end by itself."""
SETTLE_SECONDS = 20.0
"""Ceiling of the warm-up; a run of slow steps gets twelve windows at least."""

Interruption = KeyboardInterrupt | OSError
"""Ctrl-C, or a disk that takes no more, or whose folder is gone."""
INTERRUPTIONS = (KeyboardInterrupt, OSError)


class Shown(NamedTuple):
    """What a run has shown so far."""

    step: int
    """Half seconds past its warm-up."""
    score: float
    """How good it is; more is better."""
    error: float
    """Standard error of log(score) within the run."""
    climb: float
    """What it may still gain by its trend, in log(score)."""


@dataclass(kw_only=True)
class MeasureWatch:
    """Stops a run when it is measured, will not settle, or is certainly slower than one device."""

    score: Callable[[float], float | None] = float
    """How good a run of so many steps per second is."""
    report: Callable[[Shown], float | None] | None = None
    """Is told what the run has shown every half second, and returns None, or, if it is to be
    stopped, an upper bound of its share of one device's score."""
    left: Callable[[], float] = lambda: math.inf
    """Tells how many seconds of the budget are left."""
    epoch: Epoch = UNKNOWN
    """What is known of the run's epochs."""
    precision: float = EXPECTED.sd / 2
    """Standard error within the run at which it is measured: fresh runs differ by more."""
    ahead: float = PATIENCE
    """Steady seconds within which the end of an epoch is waited for."""
    _reported: int = field(default=0, init=False)

    def __call__(self, windows: Sequence[Window]) -> Stop | None:
        """Decide on all windows so far."""
        start = steady_from(windows, self.epoch)
        if start is not None and self._shown(windows, start):
            return Stop(Outcome.MEASURED, PlainReason(kind=ReasonKind.MEASURED))
        if self.left() < -GRACE:
            return Stop(Outcome.UNFINISHED, BudgetEnded())
        stopped, seconds = self._prune(windows), sum(window.seconds for window in windows)
        if stopped or start is not None or seconds < SETTLE_SECONDS or len(windows) < 12:
            return stopped
        return Stop(Outcome.UNSTABLE, PlainReason(kind=ReasonKind.NOT_STATIONARY, seconds=seconds))

    def _shown(self, windows: Sequence[Window], start: int) -> bool:
        steady = windows[start:]
        if not _enough(steady):
            return False
        reading = read(steady, self.epoch)
        took = sum(window.seconds for window in windows)
        if took >= SETTLE_SECONDS or self.left() <= 0:
            return True
        # Of a rate that has moved before: what becomes ever slower hides in less.
        has_moved = start != warmed_up_from(windows, self.epoch)
        stationary = reading.seconds >= 6 * BLOCK_SECONDS or not has_moved
        precise = reading.error <= self.precision or reading.seconds >= PATIENCE
        return stationary and precise and not self._awaits_end(steady)

    def _awaits_end(self, steady: Sequence[Window]) -> bool:
        """Whether the end of an epoch is near that costs something and was not seen."""
        whole = read(steady)
        near = self.epoch.steps / whole.steps_per_second <= self.ahead
        ended = whole.seconds >= self.ahead or any(each.ends for each in steady)
        return self.epoch.eventful and near and not ended

    def _prune(self, windows: Sequence[Window]) -> Stop | None:
        warm = windows[past_floor(windows, self.epoch) :]
        step = int(2 * sum(window.seconds for window in warm))
        trend = trend_of(warm)
        if self.report is None or step <= self._reported or not trend:
            return None
        self._reported = step
        reading = read(warm)
        score = self.score(reading.steps_per_second)
        # It may climb a little more steeply than it seems to.
        climb = max(trend.per_second + 1.5 * trend.error, 0.0) * PATIENCE
        most = score and self.report(Shown(step, score, reading.error, min(climb, 50.0)))
        return (
            Stop(Outcome.PRUNED, PlainReason(kind=ReasonKind.SLOWER, most=most)) if most else None
        )


def _enough(steady: Sequence[Window]) -> bool:
    """Return whether the steady windows make a measurement.

    Slow steps make long windows, of which two are enough. Where a long one is a call of several
    steps, two that agree, and so seem steady, may do so by chance, and fewer than four show no
    trend; but nothing waits for these longer than twice the patience. Longer runs would not help,
    because fresh ones differ by more.
    """
    elapsed = sum(window.seconds for window in steady)
    of_calls = any(window.steps > 1 for window in steady) and elapsed < 2 * PATIENCE
    few = len(steady) >= (4 if of_calls else 2) and elapsed >= 4 * BLOCK_SECONDS
    return few or (len(steady) >= 5 and elapsed >= 2 * BLOCK_SECONDS)


@dataclass
class Budget:
    """Time that a search may still spend.

    Its clock is the engine's, so that a virtual machine has virtual time; `zero` is when that was
    zero, in seconds since 1970.
    """

    options: SearchOptions
    now: Callable[[], float]
    began: float
    zero: float = math.nan

    def __post_init__(self) -> None:
        # One for all parts of a search, which would otherwise place their runs differently in time.
        if math.isnan(self.zero):
            # To the second: fractions would be rounded differently from search to search.
            self.zero = float(round(time.time() - self.now()))

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self.now() - self.began

    @property
    def left(self) -> float:
        """Seconds left; infinite without a bound."""
        return self.whole - self.elapsed

    def within(self, seconds: float) -> Budget:
        """Return a budget that ends with this one, and after so many seconds at the latest."""
        limit = min(self.elapsed + seconds, self.whole)
        limited = self.options.model_copy(update={"budget": limit})
        return replace(self, options=limited)

    @property
    def most(self) -> float:
        """Seconds that a task may take which begins now: after them it is ended."""
        return max(self.left + GRACE, 0.0)

    @property
    def whole(self) -> float:
        """Seconds in all; infinite without a bound."""
        return math.inf if self.options.budget is None else self.options.budget


def interruption(error: Interruption) -> Interruption:
    """Return what ended a search early, or raise what is something else."""
    if isinstance(error, OSError) and not is_of_a_folder(error):
        raise error
    return error


ANALYSES = (1, 3, 10)
"""Half seconds after which a run is compared with one device, and no more often, because every
analysis may err."""
ERROR = "error"
"""User attribute of a running trial: the standard error of log(value) within the run."""
CLIMB = "climb"
"""User attribute of a running trial: the gain in log(value) that its trend may still bring."""
FALSE_PRUNE_RATE = 0.005
"""Probability of stopping a run that is as good as one device, over all analyses."""
DEGREES = 8.0
"""Degrees of freedom of Student's t, by which the noise is known."""


class Reference(NamedTuple):
    """What a run is compared with."""

    log_score: float
    """Of the best single device."""
    sd: float
    """Standard deviation of the difference from another run, the noise of that run included."""


class SlowerThanOneDevice(BasePruner):
    """Stops a run that is significantly slower than one device; without a reference, none.

    Over all interim analyses of a run that is as fast, it errs with a probability of half a per
    cent (Bonferroni).
    """

    def __init__(self, reference: Callable[[], Reference | None]) -> None:
        self._reference = reference
        self.bound = 0.0
        """Upper bound on log(run / one device) at the last interim analysis."""

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        reference = self._reference()
        if reference is None:
            return False
        # An interim analysis is due between the last intermediate value and the one before.
        *_, before, last = -1, *sorted(trial.intermediate_values)
        if not any(before < analysis <= last for analysis in ANALYSES):
            return False
        self.bound = _bound(study, trial, reference)
        return self.bound < 0


def _bound(study: Study, trial: FrozenTrial, reference: Reference) -> float:
    shown = math.log(trial.intermediate_values[trial.last_step or 0])
    minimizes = study.direction.name == "MINIMIZE"
    score = (-shown if minimizes else shown) + trial.user_attrs.get(CLIMB, 0.0)
    error = math.hypot(reference.sd, trial.user_attrs.get(ERROR, 0.0))
    reach = error * t_quantile(DEGREES, 1 - FALSE_PRUNE_RATE / len(ANALYSES))
    return float(score) - reference.log_score + reach
