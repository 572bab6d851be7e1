"""Finds the best single-device configuration, with which all others are compared."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.reason import BudgetEnded
from autotune.run.engine import Outcome
from autotune.search.design import groups, one_factor_at_a_time
from autotune.search.explore import Explorer
from autotune.sentences.reasons import reason_text
from autotune.trial import Stage

MOST = 2000
"""Configurations among which the nearest to a wish is looked for."""
SLOW = 2.0
"""The first trials after the default may take so many times as long as it."""
HOPELESS = 3
"""So many failures before any success end the search: the cause is the workload, not a setting."""


def find_baseline(
    explorer: Explorer, default: Configuration, pool: Sequence[Configuration], *, share: float
) -> None:
    """Try single-device configurations, the default first.

    Args:
        explorer: Makes the trials.
        default: What Keras does by itself.
        pool: All on one device.
        share: Of what exploring may take in all, how much may be spent here.

    Raises:
        NothingMeasured: The first few all failed, or the budget ended before one was measured.
    """
    earlier = len(explorer.history.trials)
    explorer.try_all(one_factor_at_a_time(default, pool), until=lambda: _works(explorer, earlier))
    explorer.try_all(groups(default, _quick(explorer, default, pool)), share=share)
    explorer.propose_from(pool, share=share)
    if explorer.history.baseline is None:
        raise _nothing(explorer, earlier)


def _quick(
    explorer: Explorer, default: Configuration, pool: Sequence[Configuration]
) -> list[Configuration]:
    """Return what takes not much longer than the default: a huge call of slow steps would."""
    costs = explorer.history.costs
    most = SLOW * costs.seconds(default)
    quick = [each for each in pool if costs.seconds(each) <= most] or [default]
    # Of a large space every so many do as well.
    return quick[:: 1 + len(quick) // MOST]


def _works(explorer: Explorer, earlier: int) -> bool:
    """Return whether anything could be measured.

    Args:
        explorer: Made the trials.
        earlier: How many trials are those of earlier sessions.
    """
    trials = explorer.history.trials
    if any(trial.measured for trial in trials):
        return True
    ran = [t for t in trials[earlier:] if t.outcome is not Outcome.SKIPPED]
    if len(ran) >= HOPELESS:
        raise _nothing(explorer, earlier)
    return False


def _nothing(explorer: Explorer, earlier: int) -> NothingMeasured:
    trials = explorer.history.trials
    failed = [
        t
        for t in (*trials[earlier:], *trials[:earlier])
        if t.stage is Stage.BASELINE and not t.measured and not isinstance(t.reason, BudgetEnded)
    ]
    if not failed:
        return NothingMeasured(
            "The budget ran out before any configuration was measured.", "Increase the budget."
        )
    first = failed[0]
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one {first.outcome.verb}: "
        f"{reason_text(first.reason).rstrip('.')}.",
        "Fix this and try again.",
    )
