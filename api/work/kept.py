"""The study of a job: what it was made for, and making it again from the trials in the database.

The service's database is what counts. A study's own file may lack the last trial, or lie on
another host, so every attempt begins with a new one that holds exactly the recorded trials. The
search then checks, as for anybody who resumes, that it was made for the same thing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import optuna
from optuna.trial import TrialState, create_trial

from autotune.api.work.messages import STUDY
from autotune.run.engine import Outcome
from autotune.search.study import RECORD
from autotune.trial import Trial

_STATES = {Outcome.MEASURED: TrialState.COMPLETE, Outcome.PRUNED: TrialState.PRUNED}


def identity(url: str) -> str:
    """Return what the study in a database was made for, as JSON."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name=STUDY, storage=url)
    return json.dumps(study.user_attrs[RECORD])


def restore(url: str, made_for: str, trials: Sequence[Trial]) -> None:
    """Make the study of an earlier attempt again, in a new database."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(study_name=STUDY, storage=url, direction="maximize")
    study.set_user_attr(RECORD, json.loads(made_for))
    study.add_trials([_frozen(each) for each in trials])


def _frozen(trial: Trial) -> optuna.trial.FrozenTrial:
    return create_trial(
        state=_STATES.get(trial.outcome, TrialState.FAIL),
        value=trial.examples_per_second if trial.measured else None,
        user_attrs={RECORD: trial.model_dump(mode="json"), "outcome": str(trial.outcome)},
    )
