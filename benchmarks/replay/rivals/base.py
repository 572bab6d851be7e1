"""What the rivals see of a search: one figure for each configuration that was tried."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.run.engine import Outcome
from autotune.search.history import History
from autotune.trial import Stage


def shown(history: History) -> dict[Configuration, float | None]:
    """Return the score of what was tried, in order; None for a trial without any."""
    return {
        trial.configuration: history.score(trial)
        for trial in history.trials
        if trial.stage is not Stage.FINAL and trial.outcome is not Outcome.SKIPPED
    }
