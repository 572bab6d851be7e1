"""The request of a search, its mistakes that can be told at once, and where a search begins."""

from __future__ import annotations

import importlib.util
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from autotune.base import Scalar, Value
from autotune.config import Configuration
from autotune.disk import RESULT_BYTES, STUDY_BYTES, check_room
from autotune.errors import FactoryFailed, MissingPackage, OutputError, UsageError
from autotune.events import Preparing
from autotune.machine import Machine, seen_from_outside
from autotune.objective import MAX_THROUGHPUT, Objective, Scorer, objective_named
from autotune.options import SearchOptions
from autotune.space import AUTO, Space, check_arguments, check_own_axes, load_space
from autotune.text import hint
from autotune.workload import Length, Workload, WorkloadFacts, own_settings

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
else:
    # Importing optuna takes longer than all the rest of a command that fails.
    BasePruner = BaseSampler = BaseStorage = Any


PROGRAM = "program"
"""What an edit of the user's code changes, or other arguments."""
MACHINE = "machine"
LENGTH = "length of the training"
"""What a search goes on with, whatever it was before."""


def _having(method: str, what: str, kind: type | None = None) -> BeforeValidator:
    """Return a check that what is given, if anything is, has a method of Optuna's or is a kind."""

    def checked(given: Any) -> Any:
        if given is None or hasattr(given, method) or (kind and isinstance(given, kind)):
            return given
        raise ValueError(f"Input should be {what}")

    return BeforeValidator(checked)


_STORAGE = _having("create_new_study", "an SQLAlchemy URL or an Optuna storage", str)
_SAMPLER = _having("sample_relative", "an Optuna sampler")
_PRUNER = _having("prune", "an Optuna pruner")


class TuningRequest(Value):
    """What to tune, over which space, within which bounds, and where to keep it."""

    workload: Workload
    space: str | Space = "auto"
    """A space, the name of a ready-made one, or the path of a YAML file."""
    options: SearchOptions = SearchOptions()
    out: Path
    """Folder for the files, the trials' folders, and the study's database."""
    study: str | None = None
    storage: Annotated[str | BaseStorage | None, _STORAGE] = None
    """SQLAlchemy URL of the study's database, or an Optuna storage; None puts a file beside the
    others."""
    sampler: Annotated[BaseSampler | None, _SAMPLER] = None
    """Proposes the trials, in place of what the options name."""
    pruner: Annotated[BasePruner | None, _PRUNER] = None
    """Stops trials that are not worth their end, in place of the comparison with one device."""
    resume: bool = False
    files: bool = True
    """Whether the result is written into `out`; whoever keeps it elsewhere may do without."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A workload, what is known of it, and the machine that it is tuned on."""

    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    objective: Objective = MAX_THROUGHPUT
    length: Length = field(default_factory=Length)
    """How long its training is by the user's own settings."""

    @cached_property
    def scorer(self) -> Scorer:
        """Tells how good a trial is."""
        return Scorer(objective=self.objective, facts=self.facts, machine=self.machine)

    def pausing(self, seconds: float) -> Subject:
        """Return it with so many seconds between two epochs, where their number is known."""
        of_all, of_epoch = self.length.examples, self.facts.examples
        if not of_all or not of_epoch:
            return self
        between = seconds * of_all / of_epoch
        return replace(self, length=self.length.model_copy(update={"between": between}))


def calling(workload: Workload) -> Preparing:
    """Return what is told while a workload is inspected."""
    script = workload.script
    what = f"Running {script.file} up to its fit" if script else "Calling model_fn and dataset_fn"
    return Preparing(what=what)


def lacking(workload: Workload) -> str:
    """Return what a saved program will lack, and the way out; empty where it lacks nothing."""
    parts = [f"{', '.join(names)} of {role}" for role, names in workload.missing.items()]
    if not parts:
        return ""
    return (
        f"A saved train.py will lack {' and '.join(parts)}, which cannot be written into a file; "
        "result.fit() trains with them as they are now. For a whole program make them inside the "
        "function, or import them from a module."
    )


def check(request: TuningRequest) -> None:
    """Make sure that a search can begin, and that its output folder is there.

    Raises:
        UsageError: It cannot; the text says why.
    """
    if request.study is not None and not re.fullmatch(r"[\w-][\w.-]{0,99}", request.study):
        # It names a folder too.
        raise UsageError(
            f"{request.study!r} is not a valid study name.",
            "Use up to 100 letters, digits, '-', '_' and '.', not starting with '.'.",
        )
    check_names(request)
    if request.options.sampler == "gp" and importlib.util.find_spec("torch") is None:
        raise MissingPackage(
            "Optuna's sampler gp needs torch, which is not installed.",
            "Install it (pip install torch), or use --sampler auto.",
        )
    if isinstance(request.storage, str):
        _check_storage(request.storage)
    _check_output(request.out)
    check_room(request.out, RESULT_BYTES + (STUDY_BYTES if request.storage is None else 0))


def check_names(request: TuningRequest) -> None:
    """Make sure that what is named is there, as far as that is known before anything is run.

    Raises:
        UsageError: Something is not; the text says what.
    """
    factories = request.workload.factories
    for factory in factories.values():
        factory.check_name()
    objective_named(request.options.objective)
    space = named_space(request)
    # None where only an import tells.
    takes = {role: each.parameters for role, each in factories.items() if role != "callbacks_fn"}
    if space is not None and None not in takes.values():
        check_own_axes(space, {name for names in takes.values() for name in names or ()})
    for role, declared in takes.items():
        for name, _ in factories[role].arguments:
            if declared is not None and name not in declared:
                raise FactoryFailed(f"{role} has no parameter {name!r}.", hint(name, declared))


def _check_storage(url: str) -> None:
    # Only who names a database waits for its import.
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - see above
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - see above

    try:
        parsed = make_url(url)
        parsed.get_dialect().import_dbapi()
    except (ArgumentError, ImportError, ValueError) as exc:
        raise OutputError(
            f"The study's database {url} cannot be opened: {exc}.",
            "Use a URL such as sqlite:///study.db, or install what it needs.",
        ) from exc
    if parsed.get_backend_name() == "sqlite" and parsed.database and not parsed.query:
        place = Path(parsed.database)
        if not os.access(place if place.exists() else place.parent, os.W_OK):
            raise OutputError(
                f"The study's database {place} cannot be opened: it is not writable.",
                "Choose another --storage.",
            )
        check_room(place.parent, STUDY_BYTES)


def named_space(request: TuningRequest) -> Space | None:
    """Return the space that was asked for, or None where the machine decides.

    Raises:
        SpaceError: There is no such space, or it is wrong.
        ConfigurationError: A fixed argument is autotune's to fill.
    """
    asked = request.space
    space = load_space(asked) if isinstance(asked, str) and asked != AUTO else asked
    named = space if isinstance(space, Space) else None
    check_arguments(request.workload, named.own_axes if named else ())
    return named


def made_for(request: TuningRequest) -> dict[str, str]:
    """Return what a result holds for, each with its fingerprint, as far as nothing has to run."""
    space, options = named_space(request), request.options
    length = {"train_for", "epochs"}
    return {
        PROGRAM: request.workload.identity,
        MACHINE: seen_from_outside(),
        "space": space.identity if space else AUTO,
        "set of bounds": options.bounds,
        "objective": options.objective,
        LENGTH: options.model_dump_json(include=length),
    }


def _check_output(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise OutputError(
            f"{out} cannot be created: {exc.strerror or exc}.", "Choose another --out."
        ) from exc
    if not os.access(out, os.W_OK | os.X_OK):
        raise OutputError(f"{out} is not writable.", "Choose another --out.")


def own_default(
    pool: Sequence[Configuration], facts: WorkloadFacts, options: SearchOptions
) -> Configuration:
    """Return one device as the user has it, or the closest that can run."""
    return nearest(own_settings(facts, options.global_batch), pool)


def plain(default: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return a default without eager execution and XLA; as it is where that cannot run."""
    other = default.taking({"run_eagerly": False, "xla": False})
    return other if other in pool else default


def nearest_first(target: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return a pool in order: first what differs from the target on the fewest axes, and least."""
    aim = target.values()
    return sorted(pool, key=lambda each: _distance(aim, each.values()))


def nearest(target: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return the first of them."""
    return nearest_first(target, pool)[0]


def _distance(a: Mapping[str, Scalar], b: Mapping[str, Scalar]) -> float:
    return sum(_gap(a.get(name), value) for name, value in b.items() if a.get(name) != value)


def _gap(x: object, y: object) -> float:
    """One for a different value, and up to one more for how far apart two counts are."""
    if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0:
        return 1 + min(abs(math.log2(x / y)) / 16, 1.0)
    return 1.5
