"""The Python call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autotune.board import board_for
from autotune.errors import UsageError
from autotune.events import Notice, Observer, nobody
from autotune.options import SearchOptions
from autotune.run.engine import Engine
from autotune.run.resolve import reserved_engine
from autotune.search.checks import check
from autotune.search.request import TuningRequest
from autotune.space import Space
from autotune.space.schema import parse_space
from autotune.value import Scalar
from autotune.workload import Factory, Workload, factory_from_callable, factory_from_text

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

    from autotune.result import Result

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
    engine: Engine | str | None = None,
) -> Result:
    """Find out whether and how to distribute a Keras training on this machine.

    Times short runs of the real training in fresh processes, across `tf.distribute` strategies,
    batch sizes and input settings, and recommends a distributed configuration only if it is
    significantly faster than the best single-device one. TensorFlow is not imported into the
    calling process. Ctrl-C stops the search and returns the results so far, with `interrupted` set.

        result = autotune(model_fn, dataset_fn, budget="3min")
        print(result.summary)
        result.save("autotune-out")

    Args:
        model_fn: Returns a compiled `keras.Model`; called inside the strategy's scope. A function,
            or its name as `package.module:function` or `path/to/file.py:function`.
        dataset_fn: Returns a `tf.data.Dataset` of single examples `(features, labels)` or
            `(features, labels, sample_weights)`, not batched or repeated. Its parameters
            `input_context`, `batch_size` and `num_parallel_calls`, if declared, are passed in.
        space: Search space: `"auto"`, the name of a built-in space, the path of a YAML file, a
            `Space`, or a mapping with the same keys.
        budget: Time limit of the whole search: `"90s"`, `"3min"`, or seconds. None requires
            `max_trials`.
        max_trials: Maximum number of trials before the finals.
        global_batch: Fixed global batch size: examples per step over all replicas.
        max_global_batch: Maximum global batch size.
        strategies: Names of the strategies to try; None tries all in the space.
        workers: Worker counts to try; None tries those in the space.
        allow_asynchronous: Whether to include asynchronous strategies, which change convergence.
        model_args: Keyword arguments for `model_fn`.
        dataset_args: Keyword arguments for `dataset_fn`.
        callbacks_fn: Returns a list of Keras callbacks to use in every trial.
        margin: Minimum relative gain for which distribution is recommended.
        diagnose: Whether to reserve 15% of the budget, at most 25 s, to profile where the
            step time goes.
        seed: Random seed of the search; training inside the trials has its own.
        out: Output folder. None writes no files; call `Result.save` for them.
        study: Name of the Optuna study.
        storage: SQLAlchemy URL of an Optuna storage, or the storage itself; None uses `study.db`
            in `out`.
        resume: Whether to continue an interrupted study.
        progress: Whether to show progress; None shows it in notebooks and terminals, unless there
            is an observer.
        tensorboard: Folder for TensorBoard logs of the trials (HParams and scalars).
        observer: Called with each event of the search, such as the start and end of a trial.
        engine: Runs the trials, after waiting for other searches there: an engine, its name, or its
            URL. None uses this machine.

    Returns:
        The recommendation: configuration, verdict, speed-up with its 95% interval, reasons,
        training program and all trials.

    Raises:
        UsageError: An argument, a factory or the space is invalid; no trial was run.
        MissingPackage: `tensorboard` is set but not installed; no trial was run.
        NothingMeasured: No configuration could be measured.
        Interrupted: Stopped before anything was measured.
    """
    try:
        request = TuningRequest(
            workload=Workload(
                model=_factory(model_fn, model_args),
                dataset=_factory(dataset_fn, dataset_args),
                callbacks=None if callbacks_fn is None else _factory(callbacks_fn, None),
            ),
            space=parse_space(dict(space), where="space") if isinstance(space, Mapping) else space,
            options=SearchOptions(
                budget=budget,
                max_trials=max_trials,
                margin=margin,
                diagnose=diagnose,
                seed=seed,
                global_batch=global_batch,
                max_global_batch=max_global_batch,
                strategies=None if strategies is None else tuple(strategies),
                workers=None if workers is None else tuple(workers),
                allow_asynchronous=allow_asynchronous,
            ),
            out=Path(out) if out is not None else _temporary(),
            study=study,
            storage=storage,
            resume=resume,
            files=out is not None,
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
        name = request.workload.name
        with reserved_engine(engine, name, lambda text: tell(Notice(text=text))) as running:
            from autotune.search.tune import tune  # noqa: PLC0415

            return tune(request, running, tell)


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
