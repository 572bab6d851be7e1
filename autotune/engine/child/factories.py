"""The user's factories in a process that inspects them: loaded, given what they declare, called."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from autotune.engine.child.member import Member
from autotune.engine.events import SAID
from autotune.errors import FactoryFailed, FactoryNotFound
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
    loaded = _import(module)
    if root is not None:
        _check_origin(loaded, module, Path(root))
    return _resolve(loaded, name)


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except BaseException as exc:
        raise FactoryNotFound(
            f"{module} cannot be imported: {SAID}.", _next_step(exc, module)
        ) from exc


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
            raise FactoryNotFound(
                f"{module.__name__} has no attribute {name!r}.", hint(name, _functions_of(module))
            )
        found = getattr(found, part)
    if not callable(found):
        raise FactoryNotFound(
            f"{module.__name__}:{name} is not callable (type {type(found).__name__}).",
            "Pass a function that creates it.",
        )
    function: Call = found
    return function


def _functions_of(module: ModuleType) -> list[str]:
    own = [each for each in vars(module).items() if callable(each[1])]
    return [name for name, it in own if getattr(it, "__module__", None) == module.__name__]
