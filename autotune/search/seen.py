"""What the exploring runs have shown of each configuration."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from autotune.config import Configuration
from autotune.objective import Score
from autotune.run.engine import Outcome
from autotune.search.history import History
from autotune.trial import Stage, Trial

EXPLORED = "During exploration, "
"""How a sentence begins that tells what the table of configurations shows too."""

ROUGH = 0.15
"""Standard error of log(rate) of a run that was stopped before it was measured."""
WORSE = math.log(2.0)
"""A configuration that failed counts as half as fast as the slowest, so that its neighbours are
looked at last."""


SHOWN = (Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTABLE)
"""Outcomes with a speed; what broke down later had one too, and is no use."""


class Seen(NamedTuple):
    """A score, with how well it is known."""

    log_score: float
    """Its natural logarithm."""
    sd: float
    """Its standard error, the noise between runs included."""


def seen(history: History, score: Score | None = None) -> dict[Configuration, Seen]:
    """Return the score of everything that ran long enough to show one.

    Args:
        history: Everything that ran.
        score: Reads it off a trial; None: as the search is judged.
    """
    score = score or history.score
    runs: dict[Configuration, list[tuple[float, bool]]] = defaultdict(list)
    for trial in _exploring(history):
        if trial.outcome in SHOWN and (shown := score(trial)):
            runs[trial.configuration].append((math.log(shown), trial.measured))
    return {c: _together(each, history.noise.sd) for c, each in runs.items()}


def with_failures(
    shown: Mapping[Configuration, Seen], history: History
) -> dict[Configuration, Seen]:
    """Return what was shown, and for what failed something worse than all of it."""
    if not shown:
        return {}
    worst = Seen(min(each.log_score for each in shown.values()) - WORSE, ROUGH)
    ran = (t.configuration for t in _exploring(history) if t.outcome is not Outcome.SKIPPED)
    return {**dict.fromkeys(ran, worst), **shown}


def _exploring(history: History) -> Iterator[Trial]:
    return (trial for trial in history.trials if trial.stage is not Stage.FINAL)


def _together(runs: list[tuple[float, bool]], noise: float) -> Seen:
    """Join the runs of a configuration; the measured ones alone, where there are any."""
    measured = [log for log, whole in runs if whole]
    logs = measured or [log for log, _ in runs]
    error = noise / math.sqrt(len(logs))
    return Seen(fmean(logs), error if measured else math.hypot(error, ROUGH))
