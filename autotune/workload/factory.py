"""The user's factories: how they are named, what they were given, and what their text tells.

By import, a factory is a module and a name in it, with the folder that must be on the path. By
value, it is a pickled function, for what cannot be imported: a lambda, a local function, a cell of
a notebook.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from pydantic import ConfigDict, Field

from autotune.base import Scalar, Value
from autotune.errors import FactoryNotFound
from autotune.text import hint
from autotune.workload.facts import WorkloadFacts
from autotune.workload.script import Script, code_digest
from autotune.workload.source import Source, root_of, source_of

if TYPE_CHECKING:
    from autotune.code.names import Binding, Lists

_HIDING = ("*", "exec", "globals", "setattr", "vars", "__getattr__")
"""What may give a module names that its text does not show; the star is that of an import."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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
        """Make sure that its file has its name, as far as the text tells."""
        for path, text in _files(self.module, self.root) if self.root is not None else ():
            try:
                tree = ast.parse(text)
            except SyntaxError as exc:
                raise FactoryNotFound(
                    f"{path} cannot be imported: SyntaxError: {exc.msg} (line {exc.lineno}).",
                    "Fix the file so that it can be imported.",
                ) from exc
            except ValueError:  # It holds zeros.
                continue
            bound = bound_names(tree)
            if self.name.partition(".")[0] not in bound and not _hides(tree, bound):
                own = [each.name for each in tree.body if isinstance(each, _FUNCTIONS)]
                raise FactoryNotFound(f"{path} has no {self.name!r}.", hint(self.name, own))

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameters that its text declares; None where only running it tells.

        A decorator may change them, and a function that takes any keyword has no list.
        """
        text = self.source.text if self.source else None
        if self.source is None and self.root is not None:
            text = _text_in(self.module, self.root)
        if text is None:
            return None
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return None
        bound = bound_names(tree)
        nodes = [each.node for each in bound[self.name]]
        function = nodes[0] if len(nodes) == 1 else None
        if not isinstance(function, _FUNCTIONS) or function not in tree.body:
            return None
        if function.decorator_list or function.args.kwarg or _hides(tree, bound):
            return None
        return tuple(each.arg for each in (*function.args.args, *function.args.kwonlyargs))

    @property
    def identity(self) -> str:
        """Text that is equal for the same code with the same arguments, whatever its comments.

        Of an imported function, the code is the file that holds it, unless that is installed.
        """
        own = ((self.module, self.root),) if self.root is not None else ()
        body, needed = (self.source.text, self.source.roots) if self.source else ("", ())
        texts = (_text_in(module, root) for module, root in (*own, *needed))
        files = " ".join("" if text is None else code_digest(text) for text in texts)
        return f"{self.short_name} {self.arguments!r} {code_digest(body)} {files}"


def bound_names(tree: ast.Module) -> Lists[str, Binding]:
    """Return the names of a module, each with all that binds it."""
    from autotune.code.names import Names  # noqa: PLC0415 - `--help` has no use for it

    return Names(tree).scopes[0].names


def _hides(tree: ast.Module, bound: Iterable[str]) -> bool:
    used = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return not used.union(bound).isdisjoint(_HIDING)


def factory_from_text(text: str, arguments: Mapping[str, Scalar] | None = None) -> Factory:
    """Return the factory that `package.module:function` or `path/to/file.py:function` names.

    Nothing of the user's is imported here; whether the function exists is found by the process
    that looks at the workload.
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
    # What importing the module and looking up the name gives.
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is function and module not in ("", "__main__"):
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
    return all(part.isidentifier() and not iskeyword(part) for part in text.split("."))


def _text_in(module: str, root: str) -> str | None:
    return next((text.decode(errors="replace") for _, text in _files(module, root)), None)


def _files(module: str, root: str) -> Iterator[tuple[Path, bytes]]:
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
    return path.stem, os.path.relpath(path.parent.resolve())


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


class Workload(Value):
    """A training of the user's: a model and its data, or a script."""

    model: Factory
    dataset: Factory
    callbacks: Factory | None = None
    """Gives a list of Keras callbacks, called once per process."""
    unbatch: bool = False
    """Whether the dataset's batches are taken apart."""
    examples: int | None = None
    """Examples in an epoch where the user says so; None counts them."""
    epochs: int | None = None
    """Epochs of the training where the user says so."""
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
    def missing(self) -> dict[str, tuple[str, ...]]:
        """The names of values that a program's text cannot hold, by the function that reads them.

        Such as an array of a notebook's cell.
        """
        sources = {role: each.source for role, each in self.factories.items()}
        return {role: it.missing for role, it in sources.items() if it and it.missing}

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.model.short_name

    def files_below(self, folder: Path) -> dict[str, Path | None]:
        """Return the user's own files by their paths, as found from a folder; None for no file.

        They are the script, or the modules of functions that are not installed.
        """
        if self.script:
            path = (folder / self.script.path).resolve()
            return {self.script.path: path if path.is_file() else None}
        needed = [(f.module, f.root) for f in self.factories.values() if f.module]
        needed += [each for f in self.factories.values() if f.source for each in f.source.roots]
        return {
            str(Path(root, *module.split(".")).with_suffix(".py")): next(
                (path for path, _ in _files(module, str(folder / root))), None
            )
            for module, root in needed
            if root is not None
        }

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
    named = Factory(name=script.file)
    return Workload(model=named, dataset=named, script=script)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
