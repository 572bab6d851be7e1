"""The Python call, and the object whose resources several calls share."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy import ndarray
from numpy.typing import NDArray
from pydantic import ValidationError

from autotune.base import Scalar
from autotune.disk import named
from autotune.engine import resolve
from autotune.engine.base import Engine
from autotune.engine.resolve import interruptible, uninterrupted
from autotune.errors import UsageError
from autotune.events import Event, Observer, as_notices, nobody
from autotune.options import SearchOptions, usage_error
from autotune.plan import Plan
from autotune.search.setup import TuningRequest, check, check_names
from autotune.space import Space, parse_space
from autotune.text import hint, parse_seconds, size as in_bytes
from autotune.workload import (
    Factory,
    Script,
    Workload,
    factory_from_callable,
    factory_from_text,
    is_script,
    script_from_text,
    script_workload,
)

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage

    from autotune.result import Result

FactoryLike = Callable[..., Any] | str
DatasetLike = FactoryLike | NDArray[Any] | tuple[NDArray[Any], ...]
SpaceLike = str | Space | Mapping[str, Any]
LARGEST = 64 * 2**20
"""Bytes of arrays that are handed to every trial."""


def autotune(  # noqa: PLR0913 - the one call of the library; all but the factories are optional
    model_fn: FactoryLike | Script,
    dataset_fn: DatasetLike | None = None,
    *,
    space: SpaceLike = "auto",
    budget: str | float | None = None,
    out: str | Path | None = None,
    options: SearchOptions | None = None,
    model_args: Mapping[str, Scalar] | None = None,
    dataset_args: Mapping[str, Scalar] | None = None,
    callbacks_fn: FactoryLike | None = None,
    engine: Engine | str | None = None,
    sampler: BaseSampler | str | None = None,
    pruner: BasePruner | None = None,
    **more: Any,
) -> Result:
    """Find out whether and how to distribute a Keras training on this machine.

    Times short runs of the real training in fresh processes, across `tf.distribute` strategies,
    batch sizes and input settings, and recommends a distributed configuration only if it is
    significantly faster than the best single-device one. TensorFlow is not imported into the
    calling process. Ctrl-C stops the search and returns the results so far, with `interrupted` set.

        result = autotune.tune(model_fn, dataset_fn, budget="3min", max_trials=30)
        print(result)
        result.save("autotune-out")

    It is `autotune.autotune` too, and shows its progress on stderr. A `Tuner` does the same with a
    storage or an observer, and resumes studies.

    Args:
        model_fn: Returns a compiled `keras.Model`; called inside the strategy's scope. A function,
            or its name as `package.module:function` or `path/to/file.py:function`. Or a whole
            training script or notebook, by its path or as a `Script`, without a `dataset_fn`.
        dataset_fn: Returns what `Model.fit` takes: a `tf.data.Dataset` of single examples, a
            `PyDataset`, or arrays `x`, `(x, y)` or `(x, y, sample_weight)`; or two of these, of
            which the second validates. Its parameters `input_context`, `batch_size`,
            `num_parallel_calls` and `cache`, if declared, are passed in. NumPy arrays of up to
            64 MiB may be passed themselves.
        space: Search space: `"auto"`, the name of a built-in space, the path of a YAML file, a
            `Space`, or a mapping with the same keys.
        budget: Time limit of the whole search: `"90s"`, `"3min"`, or seconds; replaces the budget
            of the options.
        out: Output folder. None writes no files; call `Result.save` for them.
        options: Everything else that a search takes; None uses the defaults.
        more: The same by name, as `max_trials=30`; they replace those of the options.
        model_args: Keyword arguments for `model_fn`.
        dataset_args: Keyword arguments for `dataset_fn`.
        callbacks_fn: Returns a list of Keras callbacks to use in every trial.
        engine: Runs the trials: an engine, its name, or its URL; None uses this machine, after
            waiting for other searches on it.
        sampler: An Optuna sampler that proposes the trials, or the option `sampler`.
        pruner: An Optuna pruner that stops trials; None stops what is slower than one device.

    Returns:
        The result: configuration, verdict, speed-up with its 95% interval, reasons, training
        program and all trials.

    Raises:
        UsageError: An argument, a factory or the space is invalid; no trial was run.
        NothingMeasured: No configuration could be measured.
        Interrupted: Stopped before anything was measured.
    """
    if isinstance(sampler, str):
        more, sampler = {**more, "sampler": sampler}, None
    return Tuner(engine=engine, sampler=sampler, pruner=pruner).tune(
        model_fn,
        dataset_fn,
        space=space,
        budget=budget,
        out=out,
        options=options,
        model_args=model_args,
        dataset_args=dataset_args,
        callbacks_fn=callbacks_fn,
        **more,
    )


tune = autotune


class Tuner:
    """Plans and runs searches with the same engine, storage and observers.

    Args:
        engine: Runs the trials: an engine, its name, or its URL; None uses this machine. An engine
            that is passed as an object stays open.
        storage: SQLAlchemy URL of an Optuna storage, or the storage itself; None uses `study.db`
            in the output folder.
        sampler: An Optuna sampler that proposes the trials; None takes the option `sampler`.
        pruner: An Optuna pruner that stops trials; None stops what is slower than one device.
        observer: Called with each event of a search, such as the start and end of a trial.
        progress: Whether to show progress on stderr; None shows it unless there is an observer.
        wait: Whether to wait for other searches on the engine's machines, in the order of arrival;
            otherwise `tune` raises `EngineError` while one is running.
        wait_for_quiet: How long to wait at most for other programs to leave the cores: `"10min"`,
            or seconds.
    """

    def __init__(  # noqa: PLR0913 - all are optional
        self,
        *,
        engine: Engine | str | None = None,
        storage: str | BaseStorage | None = None,
        sampler: BaseSampler | None = None,
        pruner: BasePruner | None = None,
        observer: Observer | None = None,
        progress: bool | None = None,
        wait: bool = True,
        wait_for_quiet: str | float = 0.0,
    ) -> None:
        self._engine = engine
        self._wait = wait
        self._quiet_seconds = parse_seconds(wait_for_quiet) if wait_for_quiet else 0.0
        self._optuna = {"storage": storage, "sampler": sampler, "pruner": pruner}
        self._observer = observer or nobody
        self._progress = observer is None if progress is None else progress

    def tune(  # noqa: PLR0913 - as above
        self,
        model_fn: FactoryLike | Script,
        dataset_fn: DatasetLike | None = None,
        *,
        space: SpaceLike = "auto",
        budget: str | float | None = None,
        out: str | Path | None = None,
        options: SearchOptions | None = None,
        model_args: Mapping[str, Scalar] | None = None,
        dataset_args: Mapping[str, Scalar] | None = None,
        callbacks_fn: FactoryLike | None = None,
        study: str | None = None,
        resume: bool = False,
        **more: Any,
    ) -> Result:
        """Search as `autotune` does, with its arguments and two more.

        Args:
            study: Name of the Optuna study; None derives it from the model.
            resume: Whether to continue an interrupted study.

        Raises:
            UsageError: An argument, a factory or the space is invalid; no trial was run.
            NothingMeasured: No configuration could be measured.
            Interrupted: Stopped before anything was measured.
        """
        workload = workload_of(model_fn, dataset_fn, model_args, dataset_args, callbacks_fn)
        request = _request(
            workload,
            space,
            _options(options, budget, more),
            out=Path(out) if out is not None else _temporary(),
            study=study,
            **self._optuna,
            resume=resume,
            files=out is not None,
        )
        fresh = not request.out.exists()
        check(request)
        with named(request.out), ExitStack() as stack:
            if fresh:
                stack.callback(_remove_empty, request.out)
            notify = self._followed(stack)
            reserved = resolve.reserved_engine(
                self._engine,
                workload.name,
                as_notices(notify),
                seconds=request.options.budget,
                wait=self._wait,
            )
            engine = stack.enter_context(reserved)
            resolve.wait_for_quiet(engine, self._quiet_seconds, as_notices(notify))
            # Optuna is imported while the engine's own process imports TensorFlow.
            with warnings.catch_warnings():
                # Of tqdm, which Optuna imports; in a notebook it says nothing about this search.
                warnings.filterwarnings("ignore", "IProgress not found")
                from autotune.search.tune import tune  # noqa: PLC0415 - see above

            with interruptible(engine) as running:
                result = tune(request, running, notify)
            with uninterrupted():  # Closing takes a moment, and the result is there.
                stack.close()
        return result

    def plan(  # noqa: PLR0913 - as above
        self,
        model_fn: FactoryLike | Script,
        dataset_fn: DatasetLike | None = None,
        *,
        space: SpaceLike = "auto",
        budget: str | float | None = None,
        options: SearchOptions | None = None,
        model_args: Mapping[str, Scalar] | None = None,
        dataset_args: Mapping[str, Scalar] | None = None,
        **more: Any,
    ) -> Plan:
        """Return what a search would try and what is excluded, and why; run no trials.

        The factories are called once. The arguments are those of `tune`.

        Raises:
            UsageError: An argument, a factory or the space is invalid.
        """
        workload = workload_of(model_fn, dataset_fn, model_args, dataset_args)
        request = _request(workload, space, _options(options, budget, more), out=Path())
        check_names(request)
        with ExitStack() as stack:
            engine = self._engine
            if engine is None or isinstance(engine, str):
                engine = stack.enter_context(resolve.new_engine(engine or resolve.LOCAL))
            from autotune.search.tune import dry_run  # noqa: PLC0415 - as above

            return dry_run(request, engine, self._followed(stack))

    def _followed(self, stack: ExitStack) -> Observer:
        """Return what is notified of a search; whatever is shown ends with the stack.

        The view appears with the first event, because importing it would delay the engine.
        """
        views: list[Observer] = []

        def notify(event: Event) -> None:
            if not views:
                from autotune.result.terminal import follow  # noqa: PLC0415 - as above

                views.append(stack.enter_context(follow(progress=self._progress)))
            for each in (self._observer, *views):
                each(event)

        return notify


def workload_of(
    model_fn: FactoryLike | Script,
    dataset_fn: DatasetLike | None,
    model_args: Mapping[str, Scalar] | None = None,
    dataset_args: Mapping[str, Scalar] | None = None,
    callbacks_fn: FactoryLike | None = None,
) -> Workload:
    """Return what two functions or a script bring; the arguments are those of `tune`.

    Raises:
        UsageError: One is missing, or a script is not alone.
    """
    if isinstance(model_fn, Script) or (isinstance(model_fn, str) and is_script(model_fn)):
        if any((dataset_fn, model_args, dataset_args, callbacks_fn)):
            raise UsageError(
                "A script brings its own data, arguments and callbacks.",
                "Pass nothing beside it; what stands behind -- goes to the script.",
            )
        return script_workload(
            script_from_text(model_fn) if isinstance(model_fn, str) else model_fn
        )
    if dataset_fn is None:
        raise UsageError(
            "There is a model and no dataset.",
            "Pass a dataset_fn too, or the path of a training script alone.",
        )
    return Workload(
        model=_factory("model_fn", model_fn, model_args),
        dataset=_factory("dataset_fn", dataset_fn, dataset_args),
        callbacks=None if callbacks_fn is None else _factory("callbacks_fn", callbacks_fn, None),
    )


def _request(
    workload: Workload, space: SpaceLike, options: SearchOptions, **more: Any
) -> TuningRequest:
    if isinstance(space, Mapping):
        space = parse_space(dict(space), where="space")
    try:
        return TuningRequest(workload=workload, space=space, options=options, **more)
    except ValidationError as exc:
        raise usage_error(exc) from exc


def _options(
    options: SearchOptions | None, budget: str | float | None, more: Mapping[str, Any]
) -> SearchOptions:
    known = (*SearchOptions.model_fields, *inspect.signature(autotune).parameters)
    for name in more.keys() - {*SearchOptions.model_fields}:
        raise UsageError(f"There is no argument {name}.", hint(name, known))
    given = {**dict(options or SearchOptions()), **more}
    return SearchOptions(**given if budget is None else {**given, "budget": budget})


def _factory(role: str, given: Any, arguments: Mapping[str, Scalar] | None) -> Factory:
    if isinstance(given, str):
        return factory_from_text(given, arguments)
    parts = given if isinstance(given, tuple) and given else (given,)
    if role == "dataset_fn" and all(isinstance(each, ndarray) for each in parts):
        return factory_from_callable(_returning(given, sum(each.nbytes for each in parts)))
    bases = ((each.__module__.partition(".")[0], each.__name__) for each in type(given).__mro__)
    if not callable(given) or ("keras", "Model") in bases:  # A model can be called too.
        kind = type(given).__qualname__
        raise UsageError(
            f"{role} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}, not a function.",
            f"Trials run in other processes, so write a function that makes it, def {role}(): "
            "..., and pass that, or its name as file.py:function.",
        )
    return factory_from_callable(given, arguments)


def _returning(arrays: Any, size: int) -> Callable[[], Any]:
    """Return a factory of arrays, which every trial gets a copy of."""
    if size > LARGEST:
        raise UsageError(
            f"The arrays take {in_bytes(size)}, and every trial would get a copy of them.",
            f"Above {in_bytes(LARGEST)}, write a function that loads them: "
            "def dataset_fn(): return numpy.load('x.npy'), numpy.load('y.npy').",
        )

    def dataset_fn() -> Any:
        return arrays

    dataset_fn.__qualname__ = "dataset_fn"  # As one of the user's own is shown.
    return dataset_fn


def _remove_empty(folder: Path) -> None:
    """Remove the folder of a search that ended before its first trial."""
    with suppress(OSError):  # It holds something.
        folder.rmdir()


def _temporary() -> Path:
    with named(Path()):
        return Path(tempfile.mkdtemp(prefix="run-", dir=_scratch().name))


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """One folder for the life of this process, removed at its end."""
    return tempfile.TemporaryDirectory(prefix="autotune-")
