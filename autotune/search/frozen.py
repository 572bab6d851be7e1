"""How a trial is kept by Optuna."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.trial import Trial
from autotune.value import Scalar

RECORD = "autotune"
"""Key of the user attribute that holds a trial, or a study's identity, in full."""
LEARNING = "learning"
"""Key of the user attribute that holds what was found of other batch sizes."""
KEPT = (RECORD, LEARNING)
"""Keys of a study's user attributes that go with it to another database."""


def declared(trials: Sequence[FrozenTrial]) -> dict[str, CategoricalDistribution]:
    """Return the domains that a study has already, which Optuna never lets change."""
    each = (domain for trial in trials for domain in trial.distributions.items())
    return {name: domain for name, domain in each if isinstance(domain, CategoricalDistribution)}


def state_of(trial: Trial, value: float | None) -> TrialState:
    if trial.outcome is Outcome.PRUNED:
        return TrialState.PRUNED
    return TrialState.FAIL if value is None else TrialState.COMPLETE


def frozen(
    trial: Trial,
    params: Mapping[str, Scalar],
    distributions: Mapping[str, BaseDistribution],
    value: float | None,
    shown: Mapping[int, float],
) -> FrozenTrial:
    """Return a trial as the database keeps it.

    Args:
        trial: It.
        params: Its parameters.
        distributions: Their domains.
        value: What the objective says of it.
        shown: What it has shown on its way, by half seconds.
    """
    value = value if trial.measured else None
    attributes: dict[str, Any] = {
        "stage": str(trial.stage),
        "outcome": str(trial.outcome),
        "reason": reason_text(trial.reason),
        RECORD: trial.model_dump(mode="json"),
    }
    made = create_trial(
        state=state_of(trial, value),
        value=value,
        params=dict(params),
        distributions=dict(distributions),
        user_attrs=attributes,
        intermediate_values=dict(shown),
    )
    if trial.ended_at is not None:
        # Optuna's times are local ones, without a zone.
        made.datetime_complete = datetime.fromtimestamp(trial.ended_at)  # noqa: DTZ006
        made.datetime_start = made.datetime_complete - timedelta(seconds=trial.wall_seconds)
    return made


def root_cause(error: BaseException) -> str:
    """Return the first line of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
