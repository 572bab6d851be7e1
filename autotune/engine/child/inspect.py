"""Calls the factories, or runs a script, and inspects what they give, in a process of its own.

Each step is announced before it is taken, so that the tuner knows what blocks. A script's own `fit`
makes its first steps as it is written, neither with other data nor with another strategy.
"""

import importlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from importlib.machinery import SOURCE_SUFFIXES
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import cloudpickle
import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.dataset import (
    BATCH,
    OpenGenerators,
    ReadOnce,
    Taken,
    holds_cache,
    other_sizes,
    reads_once,
    runs_python,
    taken_from,
    within,
)
from autotune.engine.child.inspected import InspectedDataset, InspectedModel, cacheable, offered
from autotune.engine.child.process import Member, execute
from autotune.engine.child.script import (
    batch_callbacks,
    beside_fit,
    come_to_fit,
    fit_failed,
    fit_reached,
    is_distributed,
    other_backend,
    run_in_copy,
)
from autotune.engine.child.surroundings import MayNotChange, before, patched, workers_of_cluster
from autotune.engine.child.train import timed
from autotune.engine.events import SAID, Step, describe
from autotune.errors import (
    DatasetTooSmall,
    FactoryFailed,
    FactoryNotFound,
    ScriptFailed,
    WorkloadError,
)
from autotune.shared_values import Count
from autotune.text import hint

_OTHERS = (BATCH, BATCH + BATCH // 2, BATCH + BATCH // 4)
"""Batches that are made of a script's data, the first that does not divide those of its own."""
_NOT_FITTING = (
    "Check that the model's inputs, loss and metrics match the shapes and dtypes of the examples. "
    "A dataset holds single examples, not batches (unless dataset_fn declares batch_size), and "
    "with labels, unless the model has a train_step of its own or no compiled loss."
)
_NOT_TRAINING = (
    "Check that the script trains by itself. Here a step of it was tried without a graph "
    "(run_eagerly=True)."
)


def inspect(member: Member) -> None:
    _answer(member, _script_facts if member.request["script"] else _facts)


def first_step(member: Member) -> None:
    """Have Keras make the first step of the `fit` that a script calls."""
    _answer(member, _first_step_facts)


def _answer(member: Member, facts: Callable[[Member], dict[str, Any] | None]) -> None:
    try:
        answer = {"facts": facts(member)}
    except WorkloadError as exc:
        complaint = {
            "kind": type(exc).__name__,
            "cause": exc.cause,
            "next_step": exc.advice,
            "lines": getattr(exc, "lines", None),
            "error": describe(exc.__cause__) if exc.__cause__ else None,
        }
        answer = {"complaint": complaint}
    member.finish(answer)


def _facts(member: Member) -> dict[str, Any]:
    request, begun, generators = member.request, time.monotonic(), OpenGenerators()
    own, handed = request["offered"], list[Any]()
    member.announce(Step.IMPORTING)
    with generators.watching():
        dataset_fn = loaded("dataset", member)
    model_fn = loaded("model", member)
    dataset_fn.fill(offered(handed) | own)
    model_fn.fill(own)
    callbacks = _callbacks(member)

    member.announce(Step.CALLING_DATASET)
    with generators.watching():
        made = dataset_fn()
    calling = time.monotonic() - begun
    member.announce(Step.FIRST_EXAMPLE)
    batched = "batch_size" in dataset_fn.values
    taken = taken_from(made, batched=batched, unbatch=request["unbatch"])
    if request["examples"]:
        taken = taken._replace(examples=request["examples"])
    data = InspectedDataset(taken)
    data.read_first()
    member.announce(Step.CALLING_MODEL)
    begun = time.monotonic()
    model = InspectedModel(model_fn())
    calling += time.monotonic() - begun
    data.check_rank(model.ranks())
    member.announce(Step.TRYING)
    patience = request["seconds"] / 4
    fails = partial(FactoryFailed, advice=_NOT_FITTING)
    model.train_on(data.few(model.static_batch), fails, patience)
    member.announce(Step.LOOKING)
    return {
        "model_takes": model_fn.parameters,
        "dataset_takes": dataset_fn.parameters,
        "usual_batch": taken.own_batch or dataset_fn.usual_batch or model.static_batch,
        "calling_seconds": calling,
        "batch_callbacks": batch_callbacks(callbacks),
        **model.facts(),
        **_passing(data.facts(patience), generators),
        "handed": cacheable(handed, patience) if "cache" in dataset_fn.values else (),
    }


def _script_facts(member: Member) -> dict[str, Any]:
    member.announce(Step.RUNNING)
    program = execute(member.folder.script, member.request["script"])
    begun, generators = time.monotonic(), OpenGenerators()
    with ExitStack() as stack:
        with generators.watching():
            of_fit = stack.enter_context(fit_reached(program, member.request["fit"]))
        of_fit["calling_seconds"] = time.monotonic() - begun
        return _passing(_of_script(member, program, of_fit), generators)


def _of_script(member: Member, program: ModuleType, of_fit: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the workload of a script, in its copy of the working folder."""
    found = _inspected(member, program, of_fit)
    return {
        "dataset_takes": ("batch_size",),
        **found,
        **of_fit,
        **_examples(program.script.call.x, of_fit, found),
    }


def _passing(facts: dict[str, Any], generators: OpenGenerators) -> dict[str, Any]:
    """Return facts that say of what can be read once that no pass gives the same as another."""
    return {**facts, "repeatable": False} if generators.once else facts


def _examples(data: Any, of_fit: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many examples an epoch has, and what that number is.

    The batches of an epoch tell as many as they hold if all are full. The data may hold fewer, and
    has more than one epoch takes where the script asks for so many steps.
    """
    expected = {name: of_fit[name] for name in ("examples", "count")}
    read = {name: found[name] for name in expected}
    if isinstance(data, ReadOnce):
        read = {"examples": data.examples if data.ended else None, "count": Count.EXACT}
    elif read["count"] is Count.AT_LEAST:
        read["examples"] = None  # It did not come to the end.
    if read["examples"] is None:
        return expected
    more = expected["examples"] is not None and read["examples"] > expected["examples"]
    return expected if more and of_fit["fit"]["steps"] else read


def _inspected(member: Member, program: ModuleType, of_fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the model and the data that a script gives to its `fit`.

    Batches that are not of the script's own size are looked at first, because these are tuned. Each
    takes examples from several of the script's, so that it is seen whether these go together.
    """
    tried = partial(
        _inspected_in_batches, member, program, InspectedModel(program.script.call.model)
    )
    own = of_fit["usual_batch"]
    try:
        found = tried(next((each for each in _OTHERS if own % each), own + 1))
        if not (found["built_in_batch"] or found["carried_state"]):
            return found
    except DatasetTooSmall:
        return tried(own)
    except WorkloadError:
        pass  # Perhaps others cannot be made of its data, or trained with.
    found = tried(own, whole=True)
    of_fit["fit"]["only_batch"] = own
    return found


def _inspected_in_batches(
    member: Member, program: ModuleType, model: InspectedModel, size: int, **how: bool
) -> dict[str, Any]:
    patience = member.request["seconds"] / 4
    source = program.script.call.x
    once = source if isinstance(source, ReadOnce) else None
    try:
        member.announce(Step.FIRST_EXAMPLE)
        if once:
            once.begin()
        make = partial(called, "The data of fit", program.dataset_fn, batch_size=size, **how)
        made = make()
        batches = isinstance(source, tf.data.Dataset | keras.utils.PyDataset)
        every = make(every=True) if batches else None
        if how and batches and (found := other_sizes(every, size)):
            raise ScriptFailed(
                f"The batches of fit's data hold {found} examples, and no others can be made of "
                "them.",
                "Have it make batches of one size, or pad all examples to one length.",
            )
        taken = Taken(made, size, batched=True, returned={}, once=once is not None, every=every)
        data = InspectedDataset(taken)
        data.read_first()
        member.announce(Step.TRYING)
        model.train_on(data.few(), partial(other_backend, next_step=_NOT_TRAINING), patience)
        if once:
            once.keeps = False
        member.announce(Step.LOOKING)
        return {**model.facts(), **data.facts(patience)}
    except DatasetTooSmall as exc:
        raise DatasetTooSmall(
            f"The data of fit has no batch of {size} examples.", "Check its file paths and filters."
        ) from exc.__cause__
    except FactoryFailed as exc:
        raise other_backend(
            exc.cause,
            "Check that the script trains by itself, and that its fit is given arrays, tables, "
            "tensors, a tf.data.Dataset, a keras.utils.PyDataset or a generator.",
        ) from exc.__cause__


def _callbacks(member: Member) -> list[Any]:
    if not member.request["callbacks"]:
        return []
    callbacks_fn = loaded("callbacks", member)
    callbacks_fn.fill({})
    made = callbacks_fn()
    listed = isinstance(made, list | tuple)
    if not listed or not all(isinstance(each, keras.callbacks.Callback) for each in made):
        raise FactoryFailed(
            "callbacks_fn did not return a list of keras.callbacks.Callback.",
            "Return a list; it may be empty.",
        )
    return list(made)


_DEVICE = re.compile(r"(\w+):(\d+)$")
LATER_CALLS = 5
"""Calls of the step, and of the validation, that are timed after the first ones."""
LATER_SECONDS = 1.0
"""After which no further one begins."""
MOST_SECONDS = 2.0
"""After which they are given up, whatever is under way."""


class DevicesElsewhere(BaseException):
    """The script makes a strategy for devices, or a cluster, that this process does not have."""


def _first_step_facts(member: Member) -> dict[str, Any]:
    """Make the first step of a script's `fit`, report its time, and return that of later steps.

    The answer holds the facts of the workload where a step changes nothing that is inspected;
    otherwise they take another process.

    Raises:
        WorkloadError: The script does not come to its `fit`, or that fails.
    """
    member.announce(Step.RUNNING)
    program = execute(member.folder.script, member.request["script"])
    program.script.replicas = None  # So that its own strategies stay.
    own = program.script.OwnStrategy.stands_for
    strategies = filter(None, (getattr(tf.distribute, each, None) for each in own))
    begun, found, of_fit = time.monotonic(), dict[str, Any](), dict[str, Any]()
    with (
        suppress(DevicesElsewhere),
        run_in_copy(program, member.request["fit"]) as run,
        patched(*((each, "__init__", before(_check_devices)) for each in strategies)),
    ):

        def step(call: Any) -> None:
            if _lasts(call.x) and not is_distributed(call.model):
                calling = time.monotonic() - begun
                of_fit.update(run.facts_of(call), calling_seconds=calling)
            ends = _make_first_call(member, program, run, call)
            member.announce(Step.STEPPING_ON)
            later = _LaterCalls()
            went_on = within(MOST_SECONDS, (run.later_calls(call, each) for each in [later]))
            if not went_on.done and went_on.error is None:
                of_fit.clear()  # The model is still trained.
            found.update(later.facts(sum(ends), call.validation_freq))

        notes = come_to_fit(program, run, step)
        if of_fit and not notes.strategies and "get_strategy" not in program.script.text():
            of_fit["fit"] |= beside_fit(notes)
            found["facts"] = _of_script(member, program, of_fit)
    return found


def _make_first_call(member: Member, program: ModuleType, run: Any, call: Any) -> list[float]:
    """Have Keras make the first call of a step, and report its seconds from the `fit` on.

    Returns:
        The seconds that each of the script's callbacks took after the epoch.

    Raises:
        ScriptFailed: The `fit` fails, or ends without a step.
    """
    began, seconds, ends = time.monotonic(), list[float](), list[float]()
    member.announce(Step.STEPPING)
    member.writer.write(events.TRAIN_BEGIN)

    def stop() -> None:
        if not seconds:
            seconds.append(time.monotonic() - began)
            member.writer.write(events.FIRST_STEP, seconds=seconds[0])

    for each in call.all_callbacks(validates=False):
        if isinstance(each, keras.callbacks.Callback):
            each.on_epoch_end = timed(each.on_epoch_end, ends.append)
    try:
        run.first_call(call, stop)
    except MayNotChange:
        raise
    except (Exception, SystemExit) as exc:
        raise fit_failed(program) from exc
    if not seconds:
        raise ScriptFailed(
            "The fit of the script ends without a step.",
            "Check its data, its epochs and its initial_epoch.",
        )
    return ends


def _lasts(data: Any) -> bool:
    """Whether a pass over data changes nothing for the next one: no cache, nothing of Python's."""
    if not isinstance(data, tf.data.Dataset):
        return not (reads_once(data) or isinstance(data, keras.utils.PyDataset))
    try:
        return not (runs_python(data) or holds_cache(data))
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False


class _LaterCalls(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times a few calls of the step, then of the validation, and ends the `fit`."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()
        self._steps: list[tuple[int, float]] = []
        self._tests: list[tuple[int, float]] = []
        self._batches: int | None = None

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._steps.append((batch, time.monotonic()))
        # Half of the time is left for the validation.
        late = self._seconds > LATER_SECONDS / 2 and len(self._steps) > 1
        if late or self._seconds > LATER_SECONDS or len(self._steps) > LATER_CALLS:
            self.model.stop_training = True

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        self._tests.append((batch, time.monotonic()))
        self._batches = private.batches_of_validation(self.model)
        if self._seconds > LATER_SECONDS or len(self._tests) > LATER_CALLS:
            self.model.stop_evaluating = True

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def facts(self, callbacks: float, every: Any) -> dict[str, Any]:
        """Return the seconds of a step, and those after an epoch, where callbacks take so many."""
        step, test = _each(self._steps), _each(self._tests)
        freq = every if isinstance(every, int) else 1
        validation = (test or 0.0) * (self._batches or 0) / freq
        found = {"between_seconds": callbacks + validation}
        return found if step is None else {**found, "own_step_seconds": step}


def _each(calls: list[tuple[int, float]]) -> float | None:
    """Return the seconds of one of the steps that calls have made; None where there is but one."""
    pairs = pairwise([*calls])  # A late one may be added meanwhile.
    return median([(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs]) if len(calls) > 1 else None


def _check_devices(*arguments: Any, **options: Any) -> None:
    """Leave a script whose strategy cannot be made here, where it would fail or wait for ever."""
    texts = [e for e in tf.nest.flatten([arguments[1:], options]) if isinstance(e, str)]
    found = [(m[1].upper(), int(m[2])) for m in map(_DEVICE.search, texts) if m]
    here = Counter(each.device_type for each in tf.config.list_logical_devices()) if found else {}
    multi_worker = isinstance(arguments[0], tf.distribute.MultiWorkerMirroredStrategy)
    if any(index >= here.get(kind, 0) for kind, index in found) or (
        multi_worker and workers_of_cluster() > 1
    ):
        raise DevicesElsewhere


Call = Callable[..., Any]
_OPTIONS = {
    "model": "--model-arg",
    "dataset": "--dataset-arg",
    "callbacks": "functools.partial and",
}
_VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_NAMELESS = (*_VARIABLE, Parameter.POSITIONAL_ONLY)


def called(name: str, function: Call, /, **values: Any) -> Any:
    try:
        return function(**values)
    except BaseException as exc:
        raise FactoryFailed(f"{name} raised {SAID}.", "Fix it so that it runs on its own.") from exc


class LoadedFactory:
    """A factory, by its role: `model`, `dataset` or `callbacks`."""

    def __init__(self, role: str, function: Call, fixed: Mapping[str, Any]) -> None:
        self._role = role
        self._function = function
        self._fixed = dict(fixed)
        self.values: dict[str, Any] = {}
        """What it is called with."""
        try:
            self._all = [*signature(function).parameters.values()]
        except (TypeError, ValueError):
            self._all = []  # Some callables of C tell nothing; they are called without arguments.
        self.parameters = tuple(each.name for each in self._all if each.kind not in _NAMELESS)

    @property
    def usual_batch(self) -> int | None:
        """The default of `batch_size`, if it is a number."""
        default = next((each.default for each in self._all if each.name == "batch_size"), None)
        return default if isinstance(default, int) and default > 0 else None

    def fill(self, offered: Mapping[str, Any]) -> None:
        """Take of what is offered what it declares; what the user has fixed must be declared."""
        unknown = [name for name in self._fixed if name not in self.parameters]
        if unknown and all(each.kind is not each.VAR_KEYWORD for each in self._all):
            names = ", ".join(self.parameters) or "no parameters"
            raise FactoryFailed(
                f"{self._role}_fn has no parameter {unknown[0]!r}.",
                f"It declares {names}; change {_OPTIONS[self._role]} or the function.",
            )
        self.values = {name: each for name, each in offered.items() if name in self.parameters}
        self.values |= self._fixed
        for each in self._all:
            needed = each.default is each.empty and each.kind not in _VARIABLE
            if needed and each.name not in self.values:
                option = _OPTIONS[self._role]
                raise FactoryFailed(
                    f"{self._role}_fn has a required parameter {each.name!r} without a value.",
                    f"Pass {option} {each.name}=VALUE, or give the parameter a default.",
                )

    def __call__(self) -> Any:
        return called(f"{self._role}_fn", self._function, **self.values)


def loaded(role: str, member: Member) -> LoadedFactory:
    """Import a factory, or take it as it was shipped."""
    given, pickled = member.request[role], member.folder.pickled(f"{role}_fn")
    if not pickled.exists():
        function = load(given["name"], given["module"], given["root"])
        return LoadedFactory(role, function, given["arguments"])
    try:
        return LoadedFactory(role, cloudpickle.loads(pickled.read_bytes()), given["arguments"])
    except BaseException as exc:
        raise FactoryFailed(
            f"{given['name']} cannot be unpickled in another process: {SAID}.",
            "Move it into a module and import it from there.",
        ) from exc


def load(name: str, module: str, root: str | None) -> Call:
    """Import a factory, from a folder that must be on the path unless it is installed."""
    if root is not None:
        sys.path.insert(0, os.path.abspath(root))  # noqa: PTH100 - the path holds text
        importlib.invalidate_caches()
    try:
        found = importlib.import_module(module)
    except BaseException as exc:
        raise FactoryNotFound(
            f"{module} cannot be imported: {SAID}.", _next_step(exc, module)
        ) from exc
    if root is not None:
        _check_origin(found, module, Path(root))
    return _resolve(found, name)


def _next_step(exc: BaseException, module: str) -> str:
    if isinstance(exc, ModuleNotFoundError) and exc.name:
        if module == exc.name or module.startswith(f"{exc.name}."):
            return "Check the name, or pass the file's path."
        return f"Install {exc.name}, or run autotune in a folder where it can be imported."
    if isinstance(exc, SystemExit):
        return 'Put code that should run only as a script under `if __name__ == "__main__":`.'
    return "Fix the file so that it can be imported."


def _check_origin(loaded: ModuleType, module: str, root: Path) -> None:
    """Make sure that the module is the user's file and not another of the same name."""
    origin = Path(loaded.__file__ or "").resolve()
    stem = root.resolve().joinpath(*module.split("."))
    wanted = [stem.with_name(stem.name + suffix) for suffix in SOURCE_SUFFIXES]
    if origin not in (*wanted, stem / "__init__.py") and any(each.is_file() for each in wanted):
        raise FactoryNotFound(
            f"{wanted[0]} is shadowed by another module named {module}: {origin}.",
            "Rename the file.",
        )


def _resolve(module: ModuleType, name: str) -> Call:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            callables = [each for each in vars(module).items() if callable(each[1])]
            own = [n for n, it in callables if getattr(it, "__module__", "") == module.__name__]
            raise FactoryNotFound(f"{module.__name__} has no attribute {name!r}.", hint(name, own))
        found = getattr(found, part)
    if not callable(found):
        raise FactoryNotFound(
            f"{module.__name__}:{name} is not callable (type {type(found).__name__}).",
            "Pass a function that creates it.",
        )
    function: Call = found
    return function
