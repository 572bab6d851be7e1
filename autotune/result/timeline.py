"""The trials of a search over its time, as data that a browser draws charts of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from autotune.objective import Objective, Score
from autotune.strategies import in_short
from autotune.trial import Trial

PHASES = ("start", "tracing", "warm-up", "measuring", "ending")
"""The parts of a trial's time, in their order."""
_DIGITS = 4


def timeline(trials: Sequence[Trial], score: Score, objective: Objective) -> dict[str, Any]:
    """Return all trials as JSON: when each ran, for what its time went, and what it showed.

    Times are in seconds after the first one began; several may have run side by side.
    `value` is a trial's figure by the objective; `best` the best one of a measured trial so far.
    """
    best = 0.0
    begins = [(each.ended_at or 0.0) - each.wall_seconds for each in trials]
    first, found = min(begins, default=0.0), []
    for trial, begin in zip(trials, begins, strict=True):
        began = begin - first
        shown = score(trial)
        best = max(best, shown or 0.0) if trial.measured else best
        found.append(
            {
                "number": trial.number,
                "name": in_short(trial.configuration),
                "stage": str(trial.stage),
                "outcome": str(trial.outcome),
                "distributed": trial.configuration.distributed,
                "phases": [*_phases(trial, began)],
                "ended": round(began + trial.wall_seconds, _DIGITS),
                "value": objective.turned(shown) if shown else None,
                "best": objective.turned(best) if best else None,
                "axes": [*trial.configuration.values().items()],
            }
        )
    return {"title": f"{objective.title}, {objective.unit}", "trials": found}


def _phases(trial: Trial, began: float) -> Iterator[tuple[str, float, float]]:
    windows = [each.seconds for each in trial.windows]
    warm = len(windows) if trial.steady_from is None else trial.steady_from
    before = trial.start_seconds, trial.first_step_seconds
    known = *before, sum(windows[:warm]), sum(windows[warm:]), trial.wall_seconds
    end, at = began + trial.wall_seconds, began
    for name, seconds in zip(PHASES, known, strict=True):
        until = min(at + (seconds or 0.0), end)
        if until > at:
            yield name, round(at, _DIGITS), round(until, _DIGITS)
        at = until
