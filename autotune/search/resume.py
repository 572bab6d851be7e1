"""Which study of a database a search begins, or goes on with."""

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

import optuna
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning, OptunaError
from optuna.storages import BaseStorage, RDBStorage
from sqlalchemy.exc import SQLAlchemyError

from autotune.config import Configuration
from autotune.engine.lock import flocked
from autotune.errors import OutputError, StudyMismatch, UsageError
from autotune.objective import Objective
from autotune.search.parameters import RECORD, Parameters, frozen, root_cause
from autotune.search.setup import Subject, TuningRequest
from autotune.search.study import Notify, Study
from autotune.space import Space
from autotune.trial import Trial

FACTORIES = "factories"
"""Key of the part of an identity that an edit of the user's code changes."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep a second search out of an output folder, on whatever machine it runs.

    The kernel drops the lock when the process ends, however it ends.

    Raises:
        UsageError: Another search runs there.
    """
    trials = folder / "trials"
    trials.mkdir(exist_ok=True)
    with (trials / ".lock").open("a") as file:
        free = True
        with suppress(OSError):  # Some file systems have no locks.
            free = flocked(file.fileno())
        if not free:
            raise UsageError(
                f"Another search runs in {folder}.", "Wait until it ends, or choose another --out."
            )
        yield


def open_study(
    request: TuningRequest,
    subject: Subject,
    space: Space,
    pool: Sequence[Configuration],
    notify: Notify,
) -> Study:
    """Return a new study, or the one to go on with.

    Raises:
        StudyMismatch: The study does not exist, exists already, or is of something else.
        OutputError: The database cannot be opened.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    given = request.storage or f"sqlite:///{(request.out / 'study.db').resolve()}"
    named, base, scorer = request.study, _plain(subject.workload.name), subject.scorer
    identity = _identity(request, subject, space)
    try:
        storage = _database(given) if isinstance(given, str) else given
        names = optuna.get_all_study_names(storage)
        if request.resume:
            study = _resumed(storage, names, named or _latest(names, base), identity)
        else:
            study = _new(storage, [named] if named else _free(names, base), scorer.objective)
            study.set_user_attr(RECORD, identity)
        return Study(study, pool, notify, scorer.value)
    except (SQLAlchemyError, OptunaError, ImportError, ValueError, RuntimeError) as exc:
        named = given if isinstance(given, str) else type(given).__name__
        raise OutputError(
            f"The study's database {named} cannot be opened: {root_cause(exc)}.",
            "Check that it is writable, or choose another --storage or --out.",
        ) from exc


def made_for(storage: str, name: str) -> str:
    """Return what a study was made for, as JSON for `restore`."""
    study = optuna.load_study(study_name=name, storage=storage)
    return json.dumps({"direction": study.direction.name.lower(), **study.user_attrs})


def restore(storage: str, name: str, purpose: str, trials: Sequence[Trial]) -> None:
    """Make a study again that holds exactly these trials, in the order of their numbers.

    Whoever resumes it checks what it was made for: its purpose.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    attributes = json.loads(purpose)
    direction = attributes.pop("direction")
    study = optuna.create_study(study_name=name, storage=storage, direction=direction)
    for key, value in attributes.items():
        study.set_user_attr(key, value)
    parameters = Parameters()  # Each search declares its own.
    study.add_trials([frozen(each, each.examples_per_second, parameters) for each in trials])


def _database(url: str) -> RDBStorage:
    # SQLite waits a second for another process; Optuna tries five times to save a trial.
    waits = {"connect_args": {"timeout": 1.0}} if url.startswith("sqlite") else {}
    try:
        return RDBStorage(url, waits)
    except SQLAlchemyError:  # another search may have made the tables in this moment
        return RDBStorage(url, waits)


def _resumed(
    storage: BaseStorage, names: Sequence[str], name: str, identity: Mapping[str, str]
) -> optuna.Study:
    """Return the study of a name, which has to be of the same identity."""
    if name not in names:
        raise StudyMismatch(
            f"There is no study {name!r} to resume.",
            f"The storage holds {', '.join(names) or 'none'}; omit --resume to create a new one.",
        )
    study = optuna.load_study(study_name=name, storage=storage)
    saved = study.user_attrs.get(RECORD, {})
    for what, value in identity.items():
        if saved.get(what) != value and "" not in (value, saved.get(what)):
            raise StudyMismatch(
                f"Study {name!r} was created with a different workload: its code or its "
                "arguments differ."
                if what == FACTORIES
                else f"Study {name!r} was created with a different {what}.",
                "Omit --resume to create a new study, or restore the original.",
            )
    return study


def _identity(request: TuningRequest, subject: Subject, space: Space) -> dict[str, str]:
    """Return what must be equal for two searches to share a study, each with its fingerprint.

    An empty one is not known, and so equals every other.
    """
    return {
        FACTORIES: subject.workload.identity,
        "workload": subject.workload.fingerprint(subject.facts),
        "number of examples": str(subject.facts.certain("examples") or ""),
        "number of input files": str(subject.facts.certain("file_shards") or ""),
        "machine": subject.machine.fingerprint,
        "space": space.identity,
        "set of bounds": request.options.bounds,
        "objective": request.options.objective,
    }


def _new(storage: BaseStorage, names: Iterable[str], objective: Objective) -> optuna.Study:
    """Return a study of the first name that is free: another search may take one at any time."""
    taken, direction = "", objective.direction
    for name in names:
        try:
            study = optuna.create_study(storage=storage, study_name=name, direction=direction)
        except DuplicatedStudyError:
            taken = name
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names([f"{objective.title} ({objective.unit})"])
        return study
    raise StudyMismatch(
        f"Study {taken!r} already exists.",
        "Pass --resume to continue it, or choose another --study.",
    )


def _latest(names: Sequence[str], base: str) -> str:
    """Return the study of a base name that was begun last."""
    numbered = re.compile(rf"{re.escape(base)}(?:-([1-9]\d*))?")
    found = {name: match for name in names if (match := numbered.fullmatch(name))}
    return max(found, key=lambda name: int(found[name][1] or 1), default=base)


def _free(names: Sequence[str], base: str) -> Iterator[str]:
    numbered = (f"{base}-{number}" for number in count(2))
    return (name for name in chain([base], numbered) if name not in names)


def _plain(name: str) -> str:
    """Return a study's name from a factory's: `digits` from `digits:model_fn`."""
    return re.sub(r"\W*[^\w.-]\W*", "-", name.partition(":")[0]).strip("-.") or "autotune"
