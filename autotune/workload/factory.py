"""How a factory is named, so that any process can call it.

By import, it is a module and a name in it, with the folder that must be on the path. By value, it
is a pickled function, for what cannot be imported: a lambda, a local function, a notebook cell.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Any

import cloudpickle
from pydantic import ConfigDict

from autotune.errors import FactoryNotFound
from autotune.value import Scalar, Value
from autotune.workload.source import Source, source_of


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
    pickled: bytes = b""
    """The function by value (cloudpickle); empty for one that is imported."""
    source: Source | None = None
    """The text that defines a function shipped by value."""
    arguments: tuple[tuple[str, Scalar], ...] = ()
    """Fixed keyword arguments."""

    @property
    def short_name(self) -> str:
        """The name for people: `digits:model_fn`."""
        return f"{self.module}:{self.name}" if self.module else self.name

    @property
    def identity(self) -> str:
        """Text that is equal for the same code with the same arguments.

        Of an imported function, the code is the file that holds it, unless that is installed.
        """
        own = ((self.module, self.root),) if self.root is not None else ()
        body, needed = (self.source.text, self.source.roots) if self.source else ("", ())
        files = " ".join(_digest(module, root) for module, root in (*own, *needed))
        return f"{self.short_name} {self.arguments!r} {body} {files}"


def factory_from_text(text: str, arguments: Mapping[str, Scalar] | None = None) -> Factory:
    """Return the factory that `package.module:function` or `path/to/file.py:function` names.

    Nothing of the user's is imported here; whether the function exists is found by the process
    that looks at the workload.

    Raises:
        FactoryNotFound: The text is malformed, or there is no such file or module.
    """
    where, _, name = text.rpartition(":")
    if not where or not name:
        raise FactoryNotFound(
            f"{text!r} is not the name of a factory.",
            "Use package.module:function or path/to/file.py:function.",
        )
    if not is_dotted_name(name):
        raise FactoryNotFound(
            f"{name!r} is not the name of a function.", "Check what stands after the colon."
        )
    module, root = _file(where) if where.endswith(".py") else _module(where)
    return Factory(name=name, module=module, root=root, arguments=_pairs(arguments))


def factory_from_callable(
    function: Callable[..., Any], arguments: Mapping[str, Scalar] | None = None
) -> Factory:
    """Return the factory for a function: by import where a fresh process can, else by value."""
    name = getattr(function, "__qualname__", repr(function))
    module = getattr(function, "__module__", None) or ""
    if module not in ("", "__main__") and _resolves(function, module, name):
        return Factory(name=name, module=module, root=_root_of(module), arguments=_pairs(arguments))
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


def _digest(module: str, root: str) -> str:
    """Return a fingerprint of the file that importing a module would read, if there is one."""
    stem = Path(root, *module.split("."))
    for path in (stem / "__init__.py", stem.with_name(f"{stem.name}.py")):
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            continue
    return ""


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
    if not is_dotted_name(where):
        raise FactoryNotFound(
            f"{where!r} is not the name of a module.",
            "Use package.module:function or path/to/file.py:function.",
        )
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


def _root_of(module: str) -> str | None:
    """The folder from which a loaded module was imported, unless it is installed."""
    file = getattr(sys.modules[module.partition(".")[0]], "__file__", None)
    if file is None or {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    path = Path(file)
    return _relative(path.parent.parent if path.name == "__init__.py" else path.parent)


def _relative(folder: Path) -> str:
    return os.path.relpath(folder.resolve())
