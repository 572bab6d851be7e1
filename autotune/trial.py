"""What is kept of every trial."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import ConfigDict

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.reason import HostLost, Outcome, Reason, TooFewHosts
from autotune.stats.intervals import Interval

SHOWN = frozenset({Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTABLE, Outcome.UNFINISHED})
"""Outcomes with a speed; what broke down later had one too, and is no use."""
BROKEN = frozenset({Outcome.FAILED, Outcome.CRASHED, Outcome.OUT_OF_MEMORY, Outcome.HUNG})
"""Outcomes that speak against a program; that its speed did not settle does not."""


class Stage(StrEnum):
    """Why a trial was made."""

    BASELINE = "one device"
    """To find the best single-device configuration, the baseline for all others."""
    EXPLORE = "distributed"
    """To find a distributed configuration that may beat it."""
    REPEAT = "repeat"
    """To measure one again that decides about the answer."""


class Trial(RunResult):
    """One run of one configuration: what became of it, and what that says of a longer training."""

    model_config = ConfigDict(extra="ignore")  # A stored one may hold fields that are gone.

    number: int
    stage: Stage
    configuration: Configuration
    examples_per_second: float | None = None
    """Over all of the steady state, stalls included; of a pruned trial, until it was stopped."""
    error: float | None = None
    """Standard error of log(throughput) within the run."""
    least: float = 1.0
    """Share of `examples_per_second` that a training sustains at least: below 1 where the end of
    an epoch lies beyond the run, and the input alone waited there."""
    others: float = 0.0
    """Share of the cores that other programs took while it ran."""
    steady_from: int | None = None
    """Index of the first window of the steady state."""
    ended_at: float | None = None
    """Seconds since 1970; None of a trial that is not kept in a study."""

    @property
    def measured(self) -> bool:
        """Whether its throughput may be compared."""
        return self.outcome is Outcome.MEASURED

    @property
    def shown(self) -> bool:
        """Whether it has shown a speed."""
        return self.outcome in SHOWN

    @property
    def interrupted(self) -> bool:
        """Whether it ended for want of a host or of time, which tells nothing of it."""
        return lacks_host(self.reason) or self.outcome is Outcome.UNFINISHED


def counting(trials: Iterable[Trial]) -> list[Trial]:
    """Return the runs that count: of a configuration that was measured, the whole ones alone."""
    trials = list(trials)
    measured = {each.configuration for each in trials if each.measured}
    return [each for each in trials if each.measured or each.configuration not in measured]


def lacks_host(reason: Reason | None) -> bool:
    """Return whether something ended because a host was lost, and not for its memory."""
    lost = isinstance(reason, HostLost) and not reason.memory
    return lost or isinstance(reason, TooFewHosts)


def sustained(rate: Interval, trials: Sequence[Trial]) -> Interval:
    """Return the rate of some runs with what they did not see as it may be."""
    return rate.down_to(min((trial.least for trial in trials), default=1.0))
