"""Finds the best single-device configuration, with which all others are compared."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.run.engine import Outcome
from autotune.search.design import one_factor_at_a_time
from autotune.search.explore import Explorer
from autotune.trial import Stage

HOPELESS = 3
"""So many failures before any success end the search: the cause is the workload, not a setting."""


def find_yardstick(explorer: Explorer, pool: Sequence[Configuration]) -> None:
    """Try single-device configurations until their share of the budget is spent.

    The default is run twice, because the search needs to know how much equal runs differ.

    Raises:
        NothingMeasured: The first few all failed.
    """
    earlier = len(explorer.history.trials)
    default, *rest = one_factor_at_a_time(pool)
    explorer.try_all([default], keep_going=lambda: _hope(explorer, earlier))
    explorer.repeat(default)
    explorer.try_all(rest, keep_going=lambda: _hope(explorer, earlier))
    explorer.propose_from(pool)
    if explorer.history.yardstick is None:
        raise _nothing(explorer, earlier)


def _hope(explorer: Explorer, earlier: int) -> bool:
    """Return True unless the first trials of this session all failed.

    Args:
        explorer: Made them.
        earlier: How many trials are those of earlier sessions.
    """
    trials = explorer.history.trials
    ran = [t for t in trials[earlier:] if t.outcome is not Outcome.SKIPPED]
    if len(ran) >= HOPELESS and not any(t.measured for t in trials):
        raise _nothing(explorer, earlier)
    return True


def _nothing(explorer: Explorer, earlier: int) -> NothingMeasured:
    trials = explorer.history.trials
    failed = [
        t
        for t in (*trials[earlier:], *trials[:earlier])
        if t.stage is Stage.YARDSTICK and not t.measured
    ]
    if not failed:
        return NothingMeasured(
            "The budget ended before one configuration was measured.", "Give a larger --budget."
        )
    first = failed[0]
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one {_how(first.outcome)}: "
        f"{first.reason}",
        "Mend this and start again.",
    )


def _how(outcome: Outcome) -> str:
    words = {
        Outcome.CRASHED: "crashed",
        Outcome.HUNG: "hung",
        Outcome.UNSTEADY: "did not settle",
        Outcome.OUT_OF_MEMORY: "ran out of memory",
    }
    return words.get(outcome, "failed")
