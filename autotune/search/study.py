"""The Optuna study that keeps every trial; optuna-dashboard opens it.

A trial is written whole, after it ended, in one transaction: a search that dies leaves no half
trial behind, and a crash can never be taken for a slow measurement. Writing takes up to a tenth of
a second, so it happens while the next trial's processes start.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.trial import TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from autotune.config import Configuration, axes
from autotune.errors import OutputError, StudyMismatch
from autotune.run.engine import Outcome
from autotune.trial import Stage, Trial
from autotune.value import Scalar

RECORD = "autotune"
"""Key of the user attribute that holds a trial, or a study's identity, in full."""

Identity = Mapping[str, str]
"""What must be equal for two searches to share a study: what it is, and its fingerprint."""


class Study:
    """All trials of one search, in memory and in a database.

    Args:
        study: Where they are kept.
        pool: Every configuration that may be tried; fixes the domains that the study declares.
    """

    def __init__(self, study: optuna.Study, pool: Sequence[Configuration]) -> None:
        self._study = study
        self._distributions = _distributions(pool)
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="study")
        self._written: Future[None] | None = None
        self._trials = [
            Trial.model_validate(each.user_attrs[RECORD])
            for each in study.trials
            if RECORD in each.user_attrs
        ]

    @property
    def name(self) -> str:
        """The study's name in its storage."""
        return self._study.study_name

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials, oldest first."""
        return tuple(self._trials)

    def append(self, trial: Trial) -> None:
        """Save a trial that has ended, once the one before it is saved.

        Raises:
            OutputError: The trial before could not be saved.
        """
        self.flush()
        self._written = self._writer.submit(self._write, trial)
        self._trials.append(trial)

    def flush(self) -> None:
        """Wait until every trial is saved.

        Raises:
            OutputError: The last one could not be.
        """
        pending, self._written = self._written, None
        if pending is None:
            return
        try:
            pending.result()
        except (SQLAlchemyError, StorageInternalError) as exc:
            raise OutputError(
                f"A trial could not be saved: {str(exc).splitlines()[0]}.",
                "Make room on the disk and go on with --resume.",
            ) from exc

    def _write(self, trial: Trial) -> None:
        shown = parameters(trial.configuration)
        params = {name: shown[name] for name in self._distributions}
        self._study.add_trial(_frozen(trial, params, self._distributions))


def open_study(
    url: str,
    name: str | None,
    identity: Identity,
    pool: Sequence[Configuration],
    *,
    base: str,
    resume: bool,
) -> Study:
    """Return a new study, or the one to go on with.

    Args:
        url: An SQLAlchemy URL.
        name: The study's name; None takes `base`, numbered where it exists already.
        identity: What a study that is resumed must have been made for.
        pool: Every configuration that may be tried.
        base: The name of a study that has none.
        resume: Go on with an existing study.

    Raises:
        StudyMismatch: The study does not exist, exists already, or is of something else.
        OutputError: The database cannot be opened.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = optuna.storages.RDBStorage(url)
        names = optuna.get_all_study_names(storage)
    except (SQLAlchemyError, ImportError, ValueError) as exc:
        first = str(exc).splitlines()[0]
        raise OutputError(f"The study's database {url} cannot be opened: {first}.") from exc
    if resume:
        return Study(_existing(storage, name or _latest(names, base), names, identity), pool)
    if name in names:
        raise StudyMismatch(
            f"There is a study {name!r} already.", "Add --resume to go on with it, or rename it."
        )
    study = optuna.create_study(
        storage=storage, study_name=name or _free(names, base), direction="maximize"
    )
    study.set_user_attr(RECORD, dict(identity))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study.set_metric_names(["examples per second"])
    return Study(study, pool)


def parameters(configuration: Configuration) -> dict[str, Scalar]:
    """Return the value of every axis, the user's own included."""
    own = dict(configuration.arguments)
    return {name: getattr(configuration, name) for name in axes()} | own


def _existing(
    storage: optuna.storages.BaseStorage, name: str, names: Sequence[str], identity: Identity
) -> optuna.Study:
    if name not in names:
        raise StudyMismatch(
            f"There is no study {name!r} to go on with.",
            f"The storage holds {', '.join(names) or 'none'}; leave --resume out to begin one.",
        )
    study = optuna.load_study(study_name=name, storage=storage)
    saved = study.user_attrs.get(RECORD, {})
    for what, value in identity.items():
        if saved.get(what) != value:
            raise StudyMismatch(
                f"The study {name!r} was made for another {what}.",
                "Leave --resume out to begin a new one beside it, or pass what it was made for.",
            )
    return study


def _latest(names: Sequence[str], base: str) -> str:
    mine = [name for name in names if name == base or name.startswith(f"{base}-")]
    return max(mine, key=lambda name: (len(name), name), default=base)


def _free(names: Sequence[str], base: str) -> str:
    number, name = 1, base
    while name in names:
        number += 1
        name = f"{base}-{number}"
    return name


def _distributions(pool: Sequence[Configuration]) -> dict[str, BaseDistribution]:
    values: dict[str, dict[Scalar, None]] = {}
    for configuration in pool:
        for name, value in parameters(configuration).items():
            values.setdefault(name, {})[value] = None
    # An axis with one value says nothing, and every parameter costs the database two queries.
    return {n: CategoricalDistribution(tuple(v)) for n, v in values.items() if len(v) > 1}


def _frozen(
    trial: Trial, params: dict[str, Scalar], distributions: Mapping[str, BaseDistribution]
) -> optuna.trial.FrozenTrial:
    state = {Outcome.MEASURED: TrialState.COMPLETE, Outcome.PRUNED: TrialState.PRUNED}
    attributes: dict[str, Any] = {
        "stage": "final" if trial.stage is Stage.FINAL else str(trial.stage),
        "outcome": str(trial.outcome),
        "reason": trial.reason,
        RECORD: trial.model_dump(mode="json"),
    }
    return create_trial(
        state=state.get(trial.outcome, TrialState.FAIL),
        value=trial.examples_per_second if trial.measured else None,
        params=params,
        distributions=dict(distributions),
        user_attrs=attributes,
        # What a pruned trial had shown; all windows are in the record.
        intermediate_values={0: trial.examples_per_second} if trial.examples_per_second else {},
    )
