"""The user's factories: how they are named, what they were given, and what is known of them.

By import, a factory is a module and a name in it, with the folder that must be on the path. By
value, it is a pickled function, for what cannot be imported: a lambda, a local function, a cell of
a notebook.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from statistics import fmean
from typing import Any

import cloudpickle
from pydantic import ConfigDict, Field

from autotune.change import Change
from autotune.errors import FactoryNotFound
from autotune.stats.gradients import Learning
from autotune.value import Scalar, Value
from autotune.workload.declared import check_name, parameters_in
from autotune.workload.script import FitData, FitFacts, Script, code_digest
from autotune.workload.source import Source, root_of, source_of
from autotune.workload.stock import Stock


class Factory(Value):
    """A function of the user's that makes a model, a dataset, or callbacks."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    """The function's qualified name."""
    module: str = ""
    """The module that holds it; empty for one that is shipped by value."""
    root: str | None = None
    """The folder that must be on the path, relative to the working folder where that is possible;
    None for an installed module."""
    pickled: bytes = Field(default=b"", repr=False)
    """The function by value (cloudpickle); empty for one that is imported."""
    source: Source | None = None
    """The text that defines a function shipped by value."""
    arguments: tuple[tuple[str, Scalar], ...] = ()
    """Fixed keyword arguments."""

    @property
    def short_name(self) -> str:
        """The name for people: `digits:model_fn`."""
        return f"{self.module}:{self.name}" if self.module else self.name

    def check_name(self) -> None:
        """Make sure that its file has its name, as far as the text tells.

        Raises:
            FactoryNotFound: It surely has not, or is no Python.
        """
        for path, _ in _files(self.module, self.root) if self.root is not None else ():
            check_name(path, self.name)

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameters that its text declares; None where only running it tells."""
        text = _text_of(self)
        return None if text is None else parameters_in(text, self.name)

    @property
    def identity(self) -> str:
        """Text that is equal for the same code with the same arguments, whatever its comments.

        Of an imported function, the code is the file that holds it, unless that is installed.
        """
        own = ((self.module, self.root),) if self.root is not None else ()
        body, needed = (self.source.text, self.source.roots) if self.source else ("", ())
        files = " ".join(_file_digest(module, root) for module, root in (*own, *needed))
        return f"{self.short_name} {self.arguments!r} {code_digest(body)} {files}"


def _text_of(factory: Factory) -> str | None:
    """Return the text that defines a factory of the user's own; None where there is none."""
    if factory.source is not None:
        return factory.source.text
    if factory.root is None:
        return None
    found = next(_files(factory.module, factory.root), None)
    return found and found[1].decode(errors="replace")


def factory_from_text(text: str, arguments: Mapping[str, Scalar] | None = None) -> Factory:
    """Return the factory that `package.module:function` or `path/to/file.py:function` names.

    Nothing of the user's is imported here; whether the function exists is found by the process
    that looks at the workload.

    Raises:
        FactoryNotFound: The text is malformed, or there is no such file or module.
    """
    where, _, name = text.rpartition(":")
    is_file = where.endswith(".py")
    if not is_dotted_name(name) or not (is_file or is_dotted_name(where)):
        raise FactoryNotFound(
            f"{text!r} is not the name of a factory.",
            "Use package.module:function or path/to/file.py:function.",
        )
    module, root = _file(where) if is_file else _module(where)
    return Factory(name=name, module=module, root=root, arguments=_pairs(arguments))


def factory_from_callable(
    function: Callable[..., Any], arguments: Mapping[str, Scalar] | None = None
) -> Factory:
    """Return the factory for a function: by import where a fresh process can, else by value."""
    name = getattr(function, "__qualname__", repr(function))
    module = getattr(function, "__module__", None) or ""
    if module not in ("", "__main__") and _resolves(function, module, name):
        return Factory(name=name, module=module, root=root_of(module), arguments=_pairs(arguments))
    try:
        pickled = cloudpickle.dumps(function)
    except Exception as exc:
        raise FactoryNotFound(
            f"{name} cannot be pickled for the trial processes: {exc}.",
            "Move it into a module and import it from there.",
        ) from exc
    return Factory(
        name=name, pickled=pickled, source=source_of(function), arguments=_pairs(arguments)
    )


def is_dotted_name(text: str) -> bool:
    """Whether a text is a Python name, or several with dots between them."""
    return all(part.isidentifier() and not iskeyword(part) for part in text.split("."))


def _file_digest(module: str, root: str) -> str:
    """Return a fingerprint of the file that importing a module would read, if there is one."""
    return next(
        (code_digest(text.decode(errors="replace")) for _, text in _files(module, root)), ""
    )


def _files(module: str, root: str) -> Iterator[tuple[Path, bytes]]:
    """Yield the file that importing a module would read, with what it holds."""
    stem = Path(root, *module.split("."))
    for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
        with suppress(OSError):
            yield path, path.read_bytes()


def _pairs(arguments: Mapping[str, Scalar] | None) -> tuple[tuple[str, Scalar], ...]:
    return tuple(sorted((arguments or {}).items()))


def _file(where: str) -> tuple[str, str]:
    path = Path(where)
    if not path.is_file():
        raise FactoryNotFound(f"File {where} not found.", "Check the path.")
    if not path.stem.isidentifier() or iskeyword(path.stem):
        raise FactoryNotFound(
            f"{path.name} cannot be imported, because {path.stem!r} is not a valid module name.",
            "Rename the file using letters, digits and underscores.",
        )
    return path.stem, _relative(path.parent)


def _module(where: str) -> tuple[str, str | None]:
    top = where.partition(".")[0]
    here = Path(top)
    if here.is_dir() or here.with_suffix(".py").is_file():
        return where, "."
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise FactoryNotFound(
            f"No module named {where!r}.",
            "Run autotune in the folder that contains it, install it, or pass the file's path.",
        )
    return where, None


def _resolves(function: Callable[..., Any], module: str, name: str) -> bool:
    """Whether importing `module` and looking up `name` gives this very function."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is function


def _relative(folder: Path) -> str:
    return os.path.relpath(folder.resolve())


class InputPass(Value):
    """What reading the input alone has shown, from its beginning as far as the time let it come."""

    examples: int
    seconds: float
    whole: bool
    """Whether it came to the end of an epoch."""
    pause: float
    """Seconds by which the first examples took longer than others: a shuffle fills its buffer."""
    lengths: tuple[float, ...] = ()
    """Mean length of the examples in successive, equal parts of it, padding included: tokens, time
    steps or pixels, whatever the first component varies in. Empty where none varies, and of a
    second pass."""
    length_scatter: float = 0.0
    """Standard deviation of the lengths as they were read, of examples or of batches of them, as a
    share of their mean."""

    @property
    def mean_length(self) -> float | None:
        """Of the examples; None where all are of one length."""
        return fmean(self.lengths) if self.lengths else None

    @property
    def examples_per_second(self) -> float:
        """The rate, its pause included."""
        return self.examples / self.seconds


class Cacheable(Value):
    """What a dataset factory hands to its parameter `cache`."""

    elements: int | None = None
    """How many there are; None where counting took too long, or they never end."""
    element_bytes: int = 0
    change: Change = Change.NOTHING


class Returned(Value):
    """What the dataset factory returns, of all that `Model.fit` takes."""

    arguments: bool = False
    """Arrays as a tuple, in the order of the arguments of `Model.fit`."""
    arrays: bool = False
    """Arrays: this tuple, or features alone."""
    beside: bool = False
    """Whether it comes first in a tuple, with data for the validation behind it."""
    by_python: bool = False
    """A `keras.utils.PyDataset`."""
    unbatched: bool = False
    """Whether its batches are taken apart, because the user asked for it."""
    uneven: bool = False
    """Whether some of its batches may hold less than `batch_size`."""

    @property
    def plain(self) -> bool:
        """Whether it is a dataset that a program can use as it is."""
        return self == Returned()


class WorkloadFacts(Value):
    """Found once, in a process of its own, by calling each factory and reading a few examples."""

    model_takes: tuple[str, ...] = ()
    """Parameters that the model factory declares."""
    dataset_takes: tuple[str, ...] = ()
    """Parameters that the dataset factory declares."""
    returned: Returned = Returned()
    examples: int | None = None
    """Examples in one epoch; None where counting took too long or the dataset never ends."""
    example_bytes: int = 0
    """Bytes of one example, all components together."""
    element: str = ""
    """The element spec of one example, as text."""
    weights: int = 0
    """Numbers that the model holds (all weights)."""
    gradient_bytes: int = 0
    """Bytes of one full set of gradients, which an all-reduce has to move."""
    dense_gradient_bytes: int = 0
    """Those of them that every step moves in full. An embedding's gradient holds only the rows
    that a batch has used, so it is gathered instead; an optimizer that accumulates moves none."""
    operations: int = 0
    """Operations in the graph of the model's forward pass, after which tracing and compiling its
    step takes time; 0 where it cannot be called by itself."""
    python_input: bool = False
    """Whether the dataset runs Python code while it is read: a generator, `py_function`,
    `numpy_function`. Only the process that made it can."""
    repeatable: bool = False
    """Whether two passes give the same, so that a cache changes nothing."""
    random_stage: str = ""
    """The last stage of the dataset that gives something else in every pass, by the name of its
    class; empty where none is known."""
    shuffle_buffer: int = 0
    """Of the shuffle at the end of the dataset that alone makes passes differ, and only in their
    order; 0 where there is none."""
    handed: tuple[Cacheable, ...] = ()
    """What the dataset factory hands to its parameter `cache`; empty where it has none."""
    file_shards: int = 0
    """The most workers between which the input's files can be divided; 0 where there are none."""
    cached: bool = False
    """Whether the dataset factory's own pipeline holds a cache, which the first epoch fills."""
    prefetched: int = 0
    """Examples that its own stages may hold ready before the first step."""
    calling_seconds: float = 0.0
    """That the user's code takes in each process, until model and data are there."""
    first_pass: InputPass | None = None
    """Over the input alone; None where not even its beginning was seen in the time."""
    second_pass: InputPass | None = None
    """The same again, with what caches hold by then; None where the first was not whole."""
    stock: Stock | None = None
    """What Python code in the dataset had ready; None where reading it alone showed nothing."""
    accumulated_steps: int = 1
    """Steps whose gradients make one update."""
    built_in_batch: int | None = None
    """The size of batches with whose half the model cannot be trained, because it is built into it;
    None where any will do."""
    carried_state: str = ""
    """What carries state from one batch to the next, such as a recurrent layer with `stateful`;
    empty where nothing does."""
    eager: bool = False
    """Whether the user asks for eager execution, of the model or of every `tf.function`."""
    jit_compile: bool = False
    """Whether the step is compiled with XLA as the user has it; on GPUs Keras does so by itself."""
    uncompilable: str = ""
    """Why a model that runs eagerly cannot be compiled; empty where it can."""
    batch_callbacks: tuple[str, ...] = ()
    """Classes of the user's callbacks that do something before or after a batch."""
    own_train_function: bool = False
    """Whether the model makes its `train_function` by itself, which only `Model.fit` calls."""
    only_steps: bool = False
    """Whether the model has no `call`: only its `train_step` knows what to do with a batch."""
    optimizer: str = ""
    loss: str = ""
    usual_batch: int | None = None
    """Of the batches that the dataset factory returns, else the default of its parameter
    `batch_size`, or what a script gives to its `fit`; None where there is none."""
    learning: Learning | None = None
    """What an example teaches at other batch sizes; None where the objective does not ask."""
    fit: FitFacts | None = None
    """Of the call that a script makes; None for factories."""
    uncertain: tuple[str, ...] = ()
    """Names of numbers here that another inspection may find otherwise: the time for counting
    ended first, or two passes differ."""

    @property
    def batched(self) -> bool:
        """Whether the dataset is made of batches of the size that is asked for."""
        returned = self.returned
        return returned.arrays or returned.by_python or "batch_size" in self.dataset_takes

    @property
    def py_dataset(self) -> bool:
        """Whether the data is a `keras.utils.PyDataset`, whose workers make its batches."""
        of_fit = self.fit is not None and self.fit.data is FitData.PY_DATASET
        return self.returned.by_python or of_fit

    def certain(self, name: str) -> Any:
        """Return a fact if every other inspection finds the same or nothing; None otherwise."""
        return None if name in self.uncertain else getattr(self, name)

    @property
    def declared(self) -> str:
        """What every inspection finds, however busy its machine is, as text."""
        return self.model_dump_json(include=_DECLARED)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes that a cache holds of all examples; None where nobody knows how many there are."""
        handed = [(each.elements, each.element_bytes) for each in self.handed]
        parts = handed or [(self.examples, self.example_bytes)]
        return sum(n * b for n, b in parts if n) if all(n for n, _ in parts) else None


_DECLARED = {
    *("model_takes", "dataset_takes", "returned", "element"),
    *("weights", "gradient_bytes", "only_steps", "optimizer", "loss"),
}
"""Facts that are read off the model, the dataset and the factories' signatures. All others follow
from the code, which is part of a workload's identity already, or depend on a clock, on the first
example that came, or on chance; `docs/errors.md` lists them."""


class Workload(Value):
    """What the user wants to train."""

    model: Factory
    dataset: Factory
    callbacks: Factory | None = None
    """Gives a list of Keras callbacks, called once per process."""
    unbatch: bool = False
    """Whether the dataset's batches are taken apart."""
    examples: int | None = None
    """Examples in an epoch where the user says so; None counts them."""
    script: Script | None = None
    """Trains by itself; the factories are only names then."""

    @property
    def factories(self) -> dict[str, Factory]:
        """The factories by their names in the program."""
        if self.script:
            return {}
        roles = {"model_fn": self.model, "dataset_fn": self.dataset, "callbacks_fn": self.callbacks}
        return {role: factory for role, factory in roles.items() if factory is not None}

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.model.short_name

    @property
    def identity(self) -> str:
        """Equal for the same factories, with the same code and arguments. Twelve hex digits."""
        if self.script:
            return _digest(self.script.identity)
        callbacks = self.callbacks.identity if self.callbacks else ""
        return _digest(self.model.identity, self.dataset.identity, callbacks)

    def fingerprint(self, facts: WorkloadFacts) -> str:
        """Equal for the same factories, model and kind of examples. Twelve hex digits.

        The number of examples is no part of it, because it may not have been counted in time.
        """
        return _digest(self.identity, facts.declared)


def script_workload(script: Script) -> Workload:
    """Return the workload that a script is."""
    named = Factory(name=script.file)
    return Workload(model=named, dataset=named, script=script)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
