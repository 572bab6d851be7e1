"""What a failed trial says of configurations that were not run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from autotune.config import Configuration, axis_of
from autotune.reason import SmallerRanOut, StrategyFailed
from autotune.run.engine import Outcome
from autotune.trial import Trial

FAILURES = 3
"""After so many failures of one strategy without a success, the rest of it is skipped."""
_BROKEN = {Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED}
_RAN = {Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTABLE}
_LASTING = {Outcome.MEASURED, Outcome.PRUNED, Outcome.OUT_OF_MEMORY, Outcome.REJECTED}


class Dominance:
    """Reads the failures among some trials.

    Args:
        trials: Everything that was run so far.
    """

    def __init__(self, trials: Iterable[Trial]) -> None:
        by_strategy: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            by_strategy[trial.configuration.strategy].append(trial)
        self._full = [
            trial
            for mine in by_strategy.values()
            for trial in mine
            if trial.outcome is Outcome.OUT_OF_MEMORY
        ]
        self._broken = {name: reason for name, t in by_strategy.items() if (reason := _hopeless(t))}

    def why_not(self, configuration: Configuration) -> SmallerRanOut | StrategyFailed | None:
        """Return why a configuration need not be run, or None if it should."""
        for trial in self._full:
            if _larger(configuration, trial.configuration):
                return SmallerRanOut(trial=trial.number)
        return self._broken.get(configuration.strategy)


def still_known(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials of earlier sessions whose outcome holds for a search that goes on.

    A crash, a hang or an error may have been mended since, so what ended by one is tried again.
    """
    trials = list(trials)
    lasting = [trial for trial in trials if trial.outcome in _LASTING]
    dominance = Dominance(lasting)
    return [
        trial
        for trial in trials
        if trial.outcome in _LASTING
        or (trial.outcome is Outcome.SKIPPED and dominance.why_not(trial.configuration))
    ]


def _hopeless(trials: Sequence[Trial]) -> StrategyFailed | None:
    broken = [trial for trial in trials if trial.outcome in _BROKEN]
    if len(broken) < FAILURES or any(trial.outcome in _RAN for trial in trials):
        return None
    name = broken[0].configuration.strategy
    return StrategyFailed(strategy=name, failures=len(broken), last=broken[-1].reason)


def _larger(configuration: Configuration, failed: Configuration) -> bool:
    """Whether it needs at least the memory of one that had too little."""
    mine, theirs = configuration.values(), failed.values()
    return mine.keys() == theirs.keys() and all(
        axis_of(name).memory.at_least(value, theirs[name]) for name, value in mine.items()
    )
