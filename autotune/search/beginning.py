"""The first trials: the user's own configuration, or the next one on one device that works."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.reason import BudgetEnded, Outcome
from autotune.reason.sentences import reason_text
from autotune.search.design import one_factor_at_a_time
from autotune.search.failures import HOPELESS
from autotune.search.history import History
from autotune.text import at_least
from autotune.trial import Stage


def begin(
    history: History,
    default: Configuration,
    pool: Sequence[Configuration],
    *,
    run: Callable[[Configuration], None],
    affords: Callable[[Configuration], bool],
    elapsed: Callable[[], float],
) -> None:
    """Measure the user's own configuration, or the next one that works.

    Args:
        history: Of the search.
        default: The own one.
        pool: All on one device.
        run: Makes a trial.
        affords: Whether there is time for one.
        elapsed: Seconds since the search began.

    Raises:
        NothingMeasured: The first few all failed, or the budget ended before one was measured.
    """
    earlier = len(history.trials)
    for each in one_factor_at_a_time(default, pool):
        if history.baseline is not None:
            return
        failed = [t for t in history.trials[earlier:] if t.outcome is not Outcome.SKIPPED]
        if len(failed) >= HOPELESS:
            break
        known = each in history.tried or each in history.ruled_out
        if not known and (not history.trials or affords(each)):
            run(each)
    if history.baseline is None:
        raise _nothing(history, earlier, elapsed())


def _nothing(history: History, earlier: int, elapsed: float) -> NothingMeasured:
    trials = history.trials
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
            f"Use a budget of {at_least(2 * elapsed)} or more (--budget).",
        )
    first = failed[0]
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one {first.outcome.verb}: "
        f"{reason_text(first.reason).rstrip('.')}.",
        "Fix this and try again.",
    )
