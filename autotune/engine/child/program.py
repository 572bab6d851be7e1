"""Loads the user's code: the training program as a module, and factories by their names.

It needs nothing but the standard library.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import SOURCE_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

from autotune.engine.child.script import end_with_fit
from autotune.engine.failure import describe
from autotune.engine.folder import TrialFolder
from autotune.errors import FactoryFailed, FactoryNotFound
from autotune.hints import closest

PROGRAM = "autotune_train"
"""Name of the program's module. Plain `train` may be a file of the user's, which it imports."""
Call = Callable[..., Any]


def load_program(
    folder: TrialFolder, by_value: Iterable[str], text: str | None = None
) -> ModuleType:
    """Run the program's top level."""
    program = _execute(folder.script, text or folder.script.read_text(encoding="utf-8"))
    for name in by_value:
        setattr(program, name, _unpickle(folder.pickled(name)))
    if hasattr(program, "run_script"):
        end_with_fit(program)
    return program


def input_of(program: ModuleType) -> str:
    """Return the name of the function that gives a program the dataset it starts from."""
    return "data_fn" if hasattr(program, "data_fn") else "dataset_fn"


def load_reader(folder: TrialFolder, text: str) -> ModuleType:
    return _execute(folder.script, text)


def _execute(script: Path, text: str) -> ModuleType:
    program = ModuleType(PROGRAM)
    program.__file__ = str(script)
    sys.modules[PROGRAM] = program
    sys.argv = [str(script)]
    code = compile(text, str(script), "exec")
    exec(code, program.__dict__)  # noqa: S102 - running this program is the purpose
    return program


def _unpickle(path: Path) -> Callable[..., Any]:
    import cloudpickle  # noqa: PLC0415 - few trials need it

    function: Callable[..., Any] = cloudpickle.loads(path.read_bytes())
    return function


def load(name: str, module: str, root: str | None) -> Call:
    """Import a factory."""
    if root is not None:
        sys.path.insert(0, os.path.abspath(root))  # noqa: PTH100 - the path holds text
        importlib.invalidate_caches()
    loaded = _import(module)
    if root is not None:
        _check_origin(loaded, module, Path(root))
    return _resolve(loaded, name)


def parameters(function: Call) -> tuple[str, ...]:
    return tuple(name for name, each in _signature(function).items() if each.kind not in _NAMELESS)


def usual_batch(function: Call) -> int | None:
    given = _signature(function).get("batch_size")
    default = given.default if given else None
    return default if isinstance(default, int) and default > 0 else None


def fill(
    function: Call, *, role: str, fixed: Mapping[str, Any], offered: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keyword arguments for a factory."""
    declared = parameters(function)
    _check_fixed(function, role, fixed)
    values = {name: value for name, value in offered.items() if name in declared} | dict(fixed)
    for name, each in _signature(function).items():
        if each.default is each.empty and each.kind not in _VARIABLE and name not in values:
            raise FactoryFailed(
                f"{role}_fn has a required parameter {name!r} without a value.",
                f"Pass {_OPTIONS[role]} {name}=VALUE, or give the parameter a default.",
            )
    return values


_OPTIONS = {
    "model": "--model-arg",
    "dataset": "--dataset-arg",
    "callbacks": "functools.partial and",
}
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NAMELESS = (*_VARIABLE, inspect.Parameter.POSITIONAL_ONLY)


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except BaseException as exc:
        problem = describe(exc)
        where = f" ({problem['where']})" if problem["where"] else ""
        raise FactoryNotFound(
            f"{module} cannot be imported: {problem['kind']}: {problem['message']}{where}.",
            _next_step(exc, module),
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
                f"{module.__name__} has no attribute {name!r}.", _suggestion(module, name)
            )
        found = getattr(found, part)
    if not callable(found):
        raise FactoryNotFound(
            f"{module.__name__}:{name} is not callable (type {type(found).__name__}).",
            "Pass a function that creates it.",
        )
    function: Call = found
    return function


def _suggestion(module: ModuleType, name: str) -> str:
    own = [
        each
        for each, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    close = closest(name, own) or own[:8]
    return f"It has {', '.join(close)}." if close else "It defines no functions."


def _check_fixed(function: Call, role: str, fixed: Mapping[str, Any]) -> None:
    declared = parameters(function)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in _signature(function).values())
    unknown = [name for name in fixed if name not in declared]
    if unknown and not takes_any:
        names = ", ".join(declared) or "no parameters"
        raise FactoryFailed(
            f"{role}_fn has no parameter {unknown[0]!r}.",
            f"It declares {names}; change {_OPTIONS[role]} or the function.",
        )


def _signature(function: Call) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        # Some callables of C have none; they are called without arguments.
        return {}
