"""The Optuna study that keeps every trial; optuna-dashboard opens it.

A trial is written whole, after it ended, in one transaction: a search that dies leaves no half
trial behind, and a crash can never be taken for a slow measurement. Writing takes up to a tenth of
a second, so it happens while the next trial's processes start. What cannot be written stays in
memory and is tried again: a full disk or a locked database costs a search nothing else.
"""

from __future__ import annotations

import fcntl
import json
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning, OptunaError
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from autotune.config import Configuration
from autotune.errors import OutputError, StudyMismatch, UsageError
from autotune.objective import Score, Scorer, throughput_of
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.stats.gradients import Learning
from autotune.trial import Stage, Trial
from autotune.value import Scalar

RECORD = "autotune"
"""Key of the user attribute that holds a trial, or a study's identity, in full."""
LEARNING = "learning"
"""Key of the user attribute that holds what was found of other batch sizes."""
FACTORIES = "factories"
"""Key of the part of an identity that an edit of the user's code changes."""
KEPT = (RECORD, LEARNING)
"""Keys of a study's user attributes that go with it to another database."""
LOCK_SECONDS = 1.0
"""How long SQLite waits for another process; Optuna tries five times to save a trial."""

Identity = Mapping[str, str]
"""What must be equal for two searches to share a study: what it is, and its fingerprint.

An empty one is not known, and so equals every other.
"""
Claim = Callable[[str], None]
"""Takes the study of a name for this search; raises UsageError where another search has it."""
Tell = Callable[[str], None]
"""Is given sentences that the user should know."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which study to open."""

    storage: str | BaseStorage
    """An SQLAlchemy URL, or where Optuna keeps studies."""
    name: str | None
    """The study's name; None takes `base`, numbered where it exists already."""
    base: str
    resume: bool
    """Go on with an existing study."""
    identity: Identity
    """What a study that is resumed must have been made for."""
    scorer: Scorer
    """Gives each trial the value that the study declares."""


class Study:
    """All trials of one search, in memory and in a database.

    Args:
        study: Where they are kept.
        pool: Every configuration that may be tried; fixes the domains that the study declares.
        tell: Is told when trials cannot be saved.
        value: What Optuna is told of a trial.
    """

    def __init__(
        self,
        study: optuna.Study,
        pool: Sequence[Configuration],
        tell: Tell,
        value: Score = throughput_of,
    ) -> None:
        self._study = study
        self.value = value
        """What Optuna is told of a trial; replaced where more is learned before the first one."""
        self._distributions = _distributions(pool) | _declared(study)
        self._tell = tell
        self._told = False
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="study")
        self._saving: Future[None] | None = None
        self._unsaved: deque[Trial] = deque()
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
    def learning(self) -> Learning | None:
        """What a session of this search has found of other batch sizes."""
        found = self._study.user_attrs.get(LEARNING)
        return None if found is None else Learning.model_validate(found)

    @learning.setter
    def learning(self, learning: Learning) -> None:
        try:
            self._study.set_user_attr(LEARNING, learning.model_dump(mode="json"))
        except (SQLAlchemyError, OptunaError, RuntimeError) as exc:
            self._tell(
                f"What was learned of other batch sizes could not be saved ({_root(exc)}); a "
                "search that is resumed finds it out again."
            )

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials, oldest first."""
        return tuple(self._trials)

    def append(self, trial: Trial) -> None:
        """Take in a trial that has ended; it is saved in the background, in its turn."""
        self._trials.append(trial)
        self._unsaved.append(trial)
        if self._saving is None or self._saving.done():
            error = self._wait()
            self._saving = self._writer.submit(self._save)
            if error is not None and not self._told:
                self._told = True
                self._tell(f"A trial could not be saved ({_root(error)}); retrying.")

    def flush(self) -> None:
        """Wait until every trial is saved; tell the user of those that cannot be."""
        under_way = self._saving is not None and not self._saving.done()
        error = self._wait()
        # An attempt that failed only now would fail again.
        if self._unsaved and not (under_way and error):
            self._saving = self._writer.submit(self._save)
            error = self._wait()
        if self._unsaved and error:
            self._tell(
                f"{len(self._unsaved)} of {len(self._trials)} trials could not be saved in the "
                f"study ({_root(error)}); --resume will not include them."
            )

    def _wait(self) -> BaseException | None:
        """Return the error of the last attempt to save, once that is over."""
        if self._saving is None:
            return None
        error = self._saving.exception()
        # Only now: Ctrl-C while waiting must not let go of it.
        self._saving = None
        return error

    def _save(self) -> None:
        while self._unsaved:
            self._write(self._unsaved[0])
            self._unsaved.popleft()

    def _write(self, trial: Trial) -> None:
        shown = trial.configuration.values()
        # Of a study that goes on, another inspection may allow a value that no domain holds.
        domains = {
            name: domain
            for name, domain in self._distributions.items()
            if shown[name] in domain.choices
        }
        params = {name: shown[name] for name in domains}
        self._study.add_trial(_frozen(trial, params, domains, self.value(trial)))


@contextmanager
def claims(folder: Path) -> Iterator[Claim]:
    """Give a way to claim studies of an output folder, and let go of them at the end.

    The kernel keeps the locks and drops them when the process ends, however it ends.
    """
    with ExitStack() as held:
        yield lambda study: _lock(folder / f".{study}.lock", study, held)


def _lock(path: Path, study: str, held: ExitStack) -> None:
    try:
        # The file stays: if it were removed, two searches could lock two files of one name.
        file = held.enter_context(path.open("a"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise UsageError(
            f"Study {study!r} in {path.parent} is in use by another search.",
            "Wait until it ends, or omit --resume to create a new study.",
        ) from exc
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be locked: {exc.strerror or exc}.", "Choose another --out."
        ) from exc


def open_study(wanted: Wanted, pool: Sequence[Configuration], claim: Claim, tell: Tell) -> Study:
    """Return a new study, or the one to go on with.

    Args:
        wanted: Which one.
        pool: Every configuration that may be tried.
        claim: Takes the study for this search, before its trials are read.
        tell: Is told when trials cannot be saved.

    Raises:
        UsageError: Another search is using the study.
        StudyMismatch: The study does not exist, exists already, or is of something else.
        OutputError: The database cannot be opened.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with _storage_errors(wanted.storage):
        storage = _opened(wanted.storage)
        names = optuna.get_all_study_names(storage)
        opened = _existing if wanted.resume else _new
        return Study(opened(storage, names, wanted, claim), pool, tell, wanted.scorer.value)


def made_for(storage: str, name: str) -> str:
    """Return what a study was made for, as JSON for `restore`."""
    study = optuna.load_study(study_name=name, storage=storage)
    attributes = {key: study.user_attrs[key] for key in KEPT if key in study.user_attrs}
    return json.dumps({"direction": study.direction.name.lower(), **attributes})


def restore(storage: str, name: str, purpose: str, trials: Sequence[Trial]) -> None:
    """Make a study again that holds exactly these trials.

    Args:
        storage: An SQLAlchemy URL.
        name: Of the study, which is not there yet.
        purpose: What it was made for; whoever resumes it checks that.
        trials: Its trials, in the order of their numbers.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    told = json.loads(purpose)
    study = optuna.create_study(study_name=name, storage=storage, direction=told["direction"])
    for key in KEPT:
        if key in told:
            study.set_user_attr(key, told[key])
    study.add_trials([_frozen(each, {}, {}, each.examples_per_second) for each in trials])


def _opened(storage: str | BaseStorage) -> BaseStorage:
    return _database(storage) if isinstance(storage, str) else storage


def _database(url: str) -> RDBStorage:
    waits = {"connect_args": {"timeout": LOCK_SECONDS}} if url.startswith("sqlite") else {}
    try:
        return RDBStorage(url, waits)
    except SQLAlchemyError:  # another search may have made the tables in this moment
        return RDBStorage(url, waits)


@contextmanager
def _storage_errors(storage: str | BaseStorage) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, OptunaError, ImportError, ValueError, RuntimeError) as exc:
        named = storage if isinstance(storage, str) else type(storage).__name__
        raise OutputError(
            f"The study's database {named} cannot be opened: {_root(exc)}.",
            "Check that it is writable, or choose another --storage or --out.",
        ) from exc


def _root(error: BaseException) -> str:
    """Return the first line of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def _existing(
    storage: BaseStorage, names: Sequence[str], wanted: Wanted, claim: Claim
) -> optuna.Study:
    name = wanted.name or _latest(names, wanted.base)
    if name not in names:
        raise StudyMismatch(
            f"There is no study {name!r} to resume.",
            f"The storage holds {', '.join(names) or 'none'}; omit --resume to create a new one.",
        )
    claim(name)
    study = optuna.load_study(study_name=name, storage=storage)
    saved = study.user_attrs.get(RECORD, {})
    for what, value in wanted.identity.items():
        if saved.get(what) != value and "" not in (value, saved.get(what)):
            raise StudyMismatch(
                f"Study {name!r} was created with a different workload: the factories, their "
                "arguments or their code differ."
                if what == FACTORIES
                else f"Study {name!r} was created with a different {what}.",
                "Omit --resume to create a new study, or restore the original.",
            )
    return study


def _new(storage: BaseStorage, names: Sequence[str], wanted: Wanted, claim: Claim) -> optuna.Study:
    study, objective = _created(storage, names, wanted), wanted.scorer.objective
    claim(study.study_name)
    study.set_user_attr(RECORD, dict(wanted.identity))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study.set_metric_names([f"{objective.title} ({objective.unit})"])
    return study


def _created(storage: BaseStorage, names: Sequence[str], wanted: Wanted) -> optuna.Study:
    name = wanted.name or _free(names, wanted.base)
    try:
        direction = wanted.scorer.objective.direction
        return optuna.create_study(storage=storage, study_name=name, direction=direction)
    except DuplicatedStudyError as exc:
        if wanted.name is None:  # another search took it in this moment
            return _created(storage, [*names, name], wanted)
        raise StudyMismatch(
            f"Study {name!r} already exists.",
            ("Pass --resume to continue it, or choose another --study."),
        ) from exc


def _latest(names: Sequence[str], base: str) -> str:
    """Return the study of a base name that was begun last."""
    numbered = re.compile(rf"{re.escape(base)}(?:-([1-9]\d*))?")
    found = {name: match for name in names if (match := numbered.fullmatch(name))}
    return max(found, key=lambda name: int(found[name][1] or 1), default=base)


def _free(names: Sequence[str], base: str) -> str:
    number, name = 1, base
    while name in names:
        number += 1
        name = f"{base}-{number}"
    return name


def _declared(study: optuna.Study) -> dict[str, CategoricalDistribution]:
    """Return the domains that a study has already, which Optuna never lets change."""
    each = (domain for trial in study.trials for domain in trial.distributions.items())
    return {name: domain for name, domain in each if isinstance(domain, CategoricalDistribution)}


def _distributions(pool: Sequence[Configuration]) -> dict[str, CategoricalDistribution]:
    values: dict[str, dict[Scalar, None]] = {}
    for configuration in pool:
        for name, value in configuration.values().items():
            values.setdefault(name, {})[value] = None
    # An axis with one value says nothing, and every parameter costs the database two queries.
    return {n: CategoricalDistribution(tuple(v)) for n, v in values.items() if len(v) > 1}


def _frozen(
    trial: Trial,
    params: dict[str, Scalar],
    distributions: Mapping[str, BaseDistribution],
    value: float | None,
) -> optuna.trial.FrozenTrial:
    state = {Outcome.PRUNED: TrialState.PRUNED}
    if value is not None:
        state[Outcome.MEASURED] = TrialState.COMPLETE
    attributes: dict[str, Any] = {
        "stage": "final" if trial.stage is Stage.FINAL else str(trial.stage),
        "outcome": str(trial.outcome),
        "reason": reason_text(trial.reason),
        RECORD: trial.model_dump(mode="json"),
    }
    made = create_trial(
        state=state.get(trial.outcome, TrialState.FAIL),
        value=value if trial.measured else None,
        params=params,
        distributions=dict(distributions),
        user_attrs=attributes,
        # What a pruned trial had shown; all windows are in the record.
        intermediate_values={} if value is None else {0: value},
    )
    if trial.ended_at is not None:
        # Optuna's times are local ones, without a zone.
        made.datetime_complete = datetime.fromtimestamp(trial.ended_at)  # noqa: DTZ006
        made.datetime_start = made.datetime_complete - timedelta(seconds=trial.wall_seconds)
    return made
