"""The Python call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autotune.board import board_for
from autotune.durations import parse_seconds
from autotune.errors import UsageError
from autotune.run.engine import Engine
from autotune.run.exclusive import exclusive
from autotune.run.local import LocalEngine
from autotune.search.checks import check
from autotune.search.events import Notice, Observer, nobody
from autotune.search.host import NO_HOST, this_host
from autotune.search.options import Options
from autotune.search.request import TuningRequest
from autotune.space import Constraints, Space
from autotune.space.schema import parse_space
from autotune.value import Scalar
from autotune.workload import Factory, Workload, factory_from_callable, factory_from_text

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from autotune.report.shown import Shown

FactoryLike = Callable[..., Any] | str


def autotune(  # noqa: PLR0913 - the one call of the library; all but the factories are optional
    model_fn: FactoryLike,
    dataset_fn: FactoryLike,
    *,
    space: str | Space | Mapping[str, Any] = "auto",
    budget: str | float | None = "3min",
    max_trials: int | None = None,
    global_batch: int | None = None,
    max_global_batch: int | None = None,
    strategies: Sequence[str] | None = None,
    workers: Sequence[int] | None = None,
    allow_asynchronous: bool = False,
    model_args: Mapping[str, Scalar] | None = None,
    dataset_args: Mapping[str, Scalar] | None = None,
    callbacks_fn: FactoryLike | None = None,
    margin: float = 0.03,
    diagnose: bool = True,
    seed: int = 0,
    out: str | Path | None = None,
    study: str | None = None,
    storage: str | BaseStorage | None = None,
    resume: bool = False,
    progress: bool | None = None,
    tensorboard: str | Path | None = None,
    observer: Observer | None = None,
    engine: Engine | None = None,
) -> Shown:
    """Find out whether to distribute a training, how, and with which settings.

    Times real, short training runs on this machine in fresh processes. TensorFlow is not imported
    into the calling process. While another search is timing on this machine it waits, and tells
    the observer. Ctrl-C ends the search early and returns what was found, with `interrupted` set.

    Args:
        model_fn: Returns a compiled `keras.Model`; called inside the strategy's scope. A function,
            or its name as `package.module:function` or `path/to/file.py:function`.
        dataset_fn: Returns a `tf.data.Dataset` of single examples `(features, labels)` or
            `(features, labels, weights)`, neither batched nor repeated. It may declare
            `input_context`, `batch_size` or `num_parallel_calls` to be given them.
        space: `auto`, the name of a ready-made space, the path of a YAML file, or a space.
        budget: Wall time of the whole search: `90s`, `3min`, or seconds. None leaves the end to
            `max_trials`.
        max_trials: Trials before the finals.
        global_batch: Examples per step of all replicas together, held fixed.
        max_global_batch: Bound on it.
        strategies: Names of strategies, instead of all that the space holds.
        workers: Worker counts, instead of the space's.
        allow_asynchronous: Let strategies take part whose workers do not wait for each other,
            which changes the training.
        model_args: Fixed keyword arguments of the model factory.
        dataset_args: Fixed keyword arguments of the dataset factory.
        callbacks_fn: Returns a list of Keras callbacks that take part in every trial.
        margin: A gain below this share is not worth the trouble of distribution.
        diagnose: Whether to keep a tenth of the budget to find out where the time of a step goes.
        seed: Of the search. Training inside the trials has a seed of its own.
        out: Folder for the files and the study; None keeps the study in a temporary folder, and
            `Recommendation.save` writes the files.
        study: Name of the Optuna study.
        storage: SQLAlchemy URL of its database, or an Optuna storage; None puts a file into `out`.
        resume: Go on with a study that was interrupted.
        progress: Whether to show how far the search is; None does so in a notebook and in a
            terminal, unless there is an observer.
        tensorboard: Folder to write the trials to for TensorBoard's HParams and scalars.
        observer: Is told of each trial as it starts and ends.
        engine: Runs the trials; None takes this machine, and only then are past measurements used
            and kept, and other searches waited for.

    Raises:
        UsageError: The call, a factory or the space is wrong; nothing was run.
        MissingPackage: `tensorboard` is asked for and not installed; nothing was run.
        NothingMeasured: No configuration could be measured.
        Interrupted: Stopped before anything was measured.
    """
    try:
        constraints = Constraints(
            global_batch=global_batch,
            max_global_batch=max_global_batch,
            strategies=None if strategies is None else tuple(strategies),
            workers=None if workers is None else tuple(workers),
            allow_asynchronous=allow_asynchronous,
        )
        request = TuningRequest(
            workload=Workload(
                model=_factory(model_fn, model_args),
                dataset=_factory(dataset_fn, dataset_args),
                callbacks=None if callbacks_fn is None else _factory(callbacks_fn, None),
            ),
            space=parse_space(dict(space), where="space") if isinstance(space, Mapping) else space,
            options=Options(
                seconds=None if budget is None else parse_seconds(budget),
                max_trials=max_trials,
                constraints=constraints,
                margin=margin,
                diagnose=diagnose,
                seed=seed,
            ),
            out=Path(out) if out is not None else _temporary(),
            study=study,
            storage=storage,
            resume=resume,
        )
    except ValidationError as exc:
        raise _usage_error(exc) from exc
    check(request)
    board = board_for(tensorboard)
    # Here and below, so that `import autotune` stays quick.
    from autotune.report.follow import all_of, follow  # noqa: PLC0415

    wanted = False if observer and progress is None else progress
    with follow(progress=wanted) as view, board as writer:
        tell = all_of(observer or nobody, view, writer)
        with nullcontext(engine) if engine else _own_engine(request, tell) as running:
            from autotune.search.tune import tune  # noqa: PLC0415

            found = tune(request, running, tell, NO_HOST if engine else this_host())
    # Not before: it imports Optuna, and whoever follows keeps a notebook free of its warnings.
    from autotune.report.saving import write_report  # noqa: PLC0415
    from autotune.report.shown import shown  # noqa: PLC0415

    if out is not None:
        write_report(found, request.out)
    return shown(found)


@contextmanager
def _own_engine(request: TuningRequest, observer: Observer) -> Iterator[Engine]:
    name = request.workload.name
    with exclusive(name, lambda text: observer(Notice(text))), LocalEngine() as engine:
        yield engine


def _usage_error(exc: ValidationError) -> UsageError:
    first = exc.errors()[0]
    place = " ".join(map(str, first["loc"]))
    return UsageError(f"{place}: {first['msg']}, not {first['input']!r}.")


def _factory(given: FactoryLike, arguments: Mapping[str, Scalar] | None) -> Factory:
    if isinstance(given, str):
        return factory_from_text(given, arguments)
    return factory_from_callable(given, arguments)


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="run-", dir=_scratch().name))


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """One folder for the life of this process, removed at its end."""
    return tempfile.TemporaryDirectory(prefix="autotune-")
