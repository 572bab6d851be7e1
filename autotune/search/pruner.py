"""The pruning of runs that are slower than one device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from optuna import Study
from optuna.pruners import BasePruner
from optuna.trial import FrozenTrial

from autotune.stats.intervals import t_quantile

ANALYSES = (1, 3, 10)
"""Half seconds after which a run is compared with one device, and no more often, because every
analysis may err."""
ERROR = "error"
"""User attribute of a running trial: the standard error of log(value) within the run."""
CLIMB = "climb"
"""... what the run may still gain by its trend, in log(value)."""
FALSE_PRUNE_RATE = 0.005
"""Probability of stopping a run that is as good as one device, over all analyses."""
DEGREES = 8.0
"""Of Student's t by which the noise is taken for known."""


class Reference(NamedTuple):
    """What a run is compared with."""

    log_score: float
    """Of the best single device."""
    sd: float
    """Standard deviation of the difference from another run, the noise of that run included."""


class SlowerThanOneDevice(BasePruner):
    """Stops a run that is surely slower than one device; without a reference, none.

    It errs with a probability of half a per cent for a run that is as fast, over all its looks
    together (Bonferroni).
    """

    def __init__(self, reference: Callable[[], Reference | None]) -> None:
        self._reference = reference
        self.bound = 0.0
        """Upper bound on log(run / one device) of the run that was looked at last."""

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        reference = self._reference()
        if reference is None or not _is_due(trial):
            return False
        self.bound = _bound(study, trial, reference)
        return self.bound < 0


def _is_due(trial: FrozenTrial) -> bool:
    """Whether an interim analysis lies between the last intermediate value and the one before."""
    *_, before, last = -1, *sorted(trial.intermediate_values)
    return any(before < analysis <= last for analysis in ANALYSES)


def _bound(study: Study, trial: FrozenTrial, reference: Reference) -> float:
    shown = math.log(trial.intermediate_values[trial.last_step or 0])
    minimizes = study.direction.name == "MINIMIZE"
    score = (-shown if minimizes else shown) + trial.user_attrs.get(CLIMB, 0.0)
    error = math.hypot(reference.sd, trial.user_attrs.get(ERROR, 0.0))
    reach = error * t_quantile(DEGREES, 1 - FALSE_PRUNE_RATE / len(ANALYSES))
    return float(score) - reference.log_score + reach
