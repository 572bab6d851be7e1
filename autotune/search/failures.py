"""What cannot run, and how likely the rest is to be measured, by how trials have ended so far."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from autotune.checks.certify import family
from autotune.config import Configuration, axis_of
from autotune.errors import NothingMeasured
from autotune.reason import BudgetEnded, Cause, KnownError, Outcome
from autotune.reason.sentences import reason_text
from autotune.search.kernel import Kernel, Matrix
from autotune.text import at_least
from autotune.trial import Stage, Trial

ATTEMPTS = 2
"""Runs of a configuration that end without a speed until it is left: it failed, or lost a host each
time, though others might have been left for it."""
HOPELESS = 3
"""So many failures without a success are not due to a setting: of one strategy they rule out the
rest of it, and before anything ran they end the search."""
_BROKEN = {Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED}
_LASTING = {Outcome.MEASURED, Outcome.PRUNED, Outcome.OUT_OF_MEMORY, Outcome.REJECTED}


def still_known(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials of earlier sessions whose outcome holds for a search that goes on.

    A crash, a hang or an error may have been mended since, so what ended by one is tried again.
    """
    return [trial for trial in trials if trial.outcome in _LASTING]


class RuledOut:
    """What cannot run, and what was certified not to train as one device does."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        by_strategy: dict[str, list[Trial]] = defaultdict(list)
        for trial in trials:
            by_strategy[trial.configuration.strategy].append(trial)
        self._full = [t.configuration for t in trials if t.outcome is Outcome.OUT_OF_MEMORY]
        self._rejected = {family(t.configuration) for t in trials if t.outcome is Outcome.REJECTED}
        self._broken = {name for name, mine in by_strategy.items() if _only_fails(mine)}
        known = (t.reason for t in trials if isinstance(t.reason, KnownError))
        self._unequal = any(each.cause is Cause.UNEQUAL_EXAMPLES for each in known)
        self._batches = {t.configuration.global_batch for t in trials if t.shown}
        in_vain = Counter(trial.configuration for trial in _in_vain(trials))
        self._failed = {each for each, times in in_vain.items() if times >= ATTEMPTS}

    def __contains__(self, configuration: Configuration) -> bool:
        """Whether it failed too often, is too large, is rejected, or its strategy only fails.

        Where batches could not be made anew of the data, only those are left that were seen to be.
        """
        broken = configuration in self._failed or configuration.strategy in self._broken
        broken |= self._unequal and configuration.global_batch not in self._batches
        return broken or self.too_large(configuration) or self.rejected(configuration)

    def rejected(self, configuration: Configuration) -> bool:
        """Whether one that is distributed in the same way failed certification."""
        return bool(self._rejected) and family(configuration) in self._rejected

    def too_large(self, configuration: Configuration) -> bool:
        """Whether one that needs no more memory had too little."""
        return any(_larger(configuration, each) for each in self._full)


def _in_vain(trials: Iterable[Trial]) -> Iterator[Trial]:
    """Yield the trials that ended otherwise than by showing a speed."""
    rest = (Outcome.SKIPPED, Outcome.REJECTED)
    ended = (t for t in trials if t.outcome not in rest)
    return (t for t in ended if not t.shown and not t.interrupted)


def _only_fails(trials: Sequence[Trial]) -> bool:
    broken = sum(t.outcome in _BROKEN and not t.interrupted for t in trials)
    return broken >= HOPELESS and not any(trial.shown for trial in trials)


def _larger(configuration: Configuration, failed: Configuration) -> bool:
    """Whether it needs at least the memory of one that had too little."""
    mine, theirs = configuration.values(), failed.values()
    return mine.keys() == theirs.keys() and all(
        axis_of(name).memory.at_least(value, theirs[name]) for name, value in mine.items()
    )


def chances(
    trials: Sequence[Trial], row: Mapping[Configuration, int], kernel: Kernel, ran: Collection[int]
) -> Matrix:
    """Return how likely each row of the pool is to be measured; some rows ran already."""

    def rows(ended: Iterable[Trial]) -> set[int]:
        return {row[t.configuration] for t in ended if t.configuration in row}

    good, bad = sorted(ran), rows(_in_vain(trials)) - {*ran}
    full = rows(t for t in trials if t.outcome is Outcome.OUT_OF_MEMORY)
    works = _fits(np.array([each.per_replica_batch for each in row]), sorted(bad & full), good)
    if broken := sorted(bad - full):
        every = range(len(works))
        wrong = kernel.likeness(every, broken).sum(1)
        # Where nothing ran, 0.3 failures, each weighed by how alike it is, halve the chance.
        works *= 1 - wrong / (0.3 + wrong + kernel.likeness(every, good).sum(1))
    works[good] = 1.0
    return works


def _fits(batches: NDArray[np.int_], full: Sequence[int], good: Sequence[int]) -> Matrix:
    """Return how likely each has the memory that it needs: by its batch, whatever else."""
    more = (batches[:, None] >= batches[full]).sum(1)
    less = (batches[:, None] <= batches[good]).sum(1)
    # One in twenty fits after all with other settings, where one of its size did not.
    fits: Matrix = 1 - more / (0.05 + more + less)
    return fits


def nothing_measured(trials: Sequence[Trial], earlier: int, elapsed: float) -> NothingMeasured:
    """Return why a search has nothing to say, by its trials on one device.

    The first ones are of earlier sessions; what went wrong in this one is told first.
    """
    failed = [
        t
        for t in (*trials[earlier:], *trials[:earlier])
        if t.stage is Stage.BASELINE and not t.measured and not isinstance(t.reason, BudgetEnded)
    ]
    if not failed:
        ends = (t.reason for t in reversed(trials) if isinstance(t.reason, BudgetEnded))
        where = reason_text(next(ends, None) or BudgetEnded())
        where = where.removeprefix("the budget ran out ")
        return NothingMeasured(
            f"Nothing was measured: the budget ran out {where} (your own configuration).",
            f"Use a budget of {at_least(2 * elapsed)} or more.",
        )
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one "
        f"{failed[0].outcome.verb}: {reason_text(failed[0].reason).rstrip('.')}.",
        "Fix this and try again.",
    )
