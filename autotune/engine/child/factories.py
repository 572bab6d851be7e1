"""The user's factories in a process that inspects them: loaded, called, and what they returned."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle
import keras
import tensorflow as tf

from autotune.engine.child.dataset_passes import length_of, read_within
from autotune.engine.child.member import Member
from autotune.engine.events import SAID
from autotune.errors import FactoryFailed, FactoryNotFound, WorkloadError
from autotune.library.keras_input import batches_of, full_batches, read_by_python
from autotune.text import hint

Call = Callable[..., Any]
_OPTIONS = {
    "model": "--model-arg",
    "dataset": "--dataset-arg",
    "callbacks": "functools.partial and",
}
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NAMELESS = (*_VARIABLE, inspect.Parameter.POSITIONAL_ONLY)


def called(name: str, function: Call, **values: Any) -> Any:
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
            self._all = [*inspect.signature(function).parameters.values()]
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


BATCH = 32
"""Given to a factory that batches by itself."""
_LOOKED_AT = 64
"""Batches whose sizes are compared."""
_LOOKING_SECONDS = 60.0
"""The first of them may be long in coming; the request for the facts has a limit of its own."""


class Taken(NamedTuple):
    """A dataset as the program has it, of examples or of batches."""

    dataset: Any
    size: int
    """Examples in one of its elements."""
    batched: bool
    returned: dict[str, bool]
    """What was returned, as the facts say it."""
    examples: int | None = None
    """None where only the dataset knows."""
    least: int = tf.data.UNKNOWN_CARDINALITY
    """The fewest elements that it has; below zero where that is unknown."""
    own_batch: int | None = None
    """Examples in the batches that were returned; None where they were not batches."""
    once: bool = False
    """Whether it can be read once."""
    every: Any = None
    """The same with the batches that are not full; None where it has these or there are none."""


def taken_from(made: Any, *, batched: bool, unbatch: bool) -> Taken:
    """Return the dataset that a program makes of what the factory returned."""
    beside = has_validation(made)
    data = made[0] if beside else made
    returned = {"beside": True} if beside else {}
    by_python = isinstance(data, keras.utils.PyDataset)
    if not isinstance(data, tf.data.Dataset):
        if unbatch:
            why = "whose batches are always taken" if by_python else "which has no batches to take"
            raise FactoryFailed(
                f"dataset_fn returned {class_of(data)}, {why} apart.", "Omit --unbatch."
            )
        return _from_python(data, returned) if by_python else _from_arrays(data, returned)
    if unbatch:
        return _from_batches(data, returned)
    if not batched:
        return Taken(data, 1, batched=False, returned=returned)
    shapes = [getattr(each, "shape", None) for each in tf.nest.flatten(data.element_spec)]
    if all(each is not None and each.rank and each[0] == BATCH for each in shapes):
        return Taken(data, BATCH, batched=True, returned=returned)
    check_sizes(data, BATCH, _of_other_sizes)
    least = max(int(data.cardinality()) - 1, tf.data.UNKNOWN_CARDINALITY)
    returned["uneven"] = True
    full = full_batches(data, BATCH)
    return Taken(full, BATCH, batched=True, returned=returned, least=least, every=data)


def has_validation(made: Any) -> bool:
    """Return whether data for the validation stands behind the data for the training."""
    if not isinstance(made, tuple) or len(made) != 2:
        return False
    one, other = made
    if isinstance(one, tf.data.Dataset | keras.utils.PyDataset):
        return True
    tuples = isinstance(one, tuple) and isinstance(other, tuple)
    # Features and labels would be of one length.
    return tuples and length_of(one) != length_of(other)


def _from_arrays(data: Any, returned: dict[str, bool]) -> Taken:
    arguments = isinstance(data, tuple)
    try:
        length = length_of(data)
        size = min(BATCH, length or BATCH)
        dataset = batches_of(*(data if arguments else [data]), batch_size=size)
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, which cannot become a dataset: {SAID}.",
            "Return a tf.data.Dataset, or arrays as Model.fit takes them: x, (x, y) or "
            "(x, y, sample_weight). Wrap Python code that yields examples in "
            "tf.data.Dataset.from_generator.",
        ) from exc
    returned |= {"arrays": True, "arguments": arguments}
    return Taken(dataset, size, batched=True, returned=returned, examples=length)


def _from_python(data: Any, returned: dict[str, bool]) -> Taken:
    try:
        read, own = read_by_python(data), length_of(data[0])
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, whose first batch cannot be read: {SAID}.",
            "Check that its __getitem__(0) returns arrays or tensors, in a batch.",
        ) from exc
    returned["by_python"] = True
    full, every = (read.rebatch(BATCH, drop_remainder=drops) for drops in (True, False))
    return Taken(full, BATCH, batched=True, returned=returned, own_batch=own, every=every)


def _from_batches(dataset: Any, returned: dict[str, bool]) -> Taken:
    sizes = _sizes(dataset, 1)
    own = sizes[0] if sizes else 0
    least = (int(dataset.cardinality()) - 1) * own
    returned["unbatched"] = True
    dataset = dataset.unbatch()
    return Taken(dataset, 1, batched=False, returned=returned, least=least, own_batch=own)


def check_sizes(dataset: Any, size: int, failed: Callable[[str], WorkloadError]) -> None:
    """Make sure that most examples are in batches of one size."""
    sizes = _sizes(dataset, _LOOKED_AT)
    if sizes and sizes.count(size) * size * 2 < sum(sizes):
        raise failed(" to ".join(str(each) for each in sorted({min(sizes), max(sizes)})))


def _of_other_sizes(found: str) -> WorkloadError:
    return FactoryFailed(
        f"dataset_fn was called with batch_size={BATCH}, but its batches hold {found} examples.",
        "Make batches of batch_size examples (for bucket_by_sequence_length: bucket_batch_sizes="
        "[batch_size] * number of buckets), from at least as many examples.",
    )


def _sizes(dataset: Any, count: int) -> list[int]:
    batches = read_within(_LOOKING_SECONDS, dataset.take(count)).values
    return [length_of(batch) or 0 for batch in batches]


def class_of(value: Any) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return "nothing" if value is None else f"a {module}{kind.__qualname__}"
