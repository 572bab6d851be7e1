"""What is installed: the version of autotune, packages that only some uses need, and plugins."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec
from typing import Any

from autotune.errors import MissingPackage, UsageError
from autotune.text import hint

VERSION = version("autotune-keras")
"""Of the distribution: the name `autotune` on the package index is another project's."""
SERVICE = (
    *("alembic", "asgi_correlation_id", "fastapi", "fastapi_offline", "prometheus_client"),
    *("psycopg", "pydantic_settings", "sqlmodel", "uvicorn"),
)
"""Modules of the packages that the service needs beside those of a search."""


def check_service() -> None:
    """Raise MissingPackage if a package of the service is not installed; import nothing."""
    for each in SERVICE:
        if find_spec(each) is None:
            raise MissingPackage(
                f"The service needs {each}, which is not installed.",
                'Run `pip install ".[service]"` in autotune\'s checkout.',
            )


def needed(module: str, *, by: str, extra: str) -> Any:
    """Return a module of an optional package that `by` needs, such as `result.trials_frame()`."""
    check_installed(module, by=by, extra=extra)
    return import_module(module)


def check_installed(module: str, *, by: str, extra: str) -> None:
    """Raise MissingPackage if a module's package is not installed; import nothing."""
    package = module.partition(".")[0]
    if find_spec(package) is None:
        raise MissingPackage(
            f"{by} needs {package}, which is not installed.",
            f"Run `pip install {package}`, or `pip install '.[{extra}]'` in autotune's checkout.",
        )


Builtins = Mapping[str, str]
"""What autotune brings itself: `package.module:attribute` by name."""


def plugin_names(group: str, builtins: Builtins | None = None) -> tuple[str, ...]:
    found = sorted({each.name for each in entry_points(group=group)})
    return tuple(dict.fromkeys((*(builtins or {}), *found)))


def load_plugin(
    group: str, name: str, builtins: Builtins | None = None, kind: type | None = None
) -> Any:
    """Import what a name stands for in a group of entry points, which must be of a kind.

    What is built in cannot be replaced by an entry point.
    """
    if builtins and name in builtins:
        return load_attribute(builtins[name], f"The built-in {name!r} of group {group}")
    for point in entry_points(group=group):
        if point.name == name:
            return _loaded(point, kind)
    known = plugin_names(group, builtins)
    noun = group.rpartition(".")[2].removesuffix("s")
    raise UsageError(f"Unknown {noun} {name!r}.", hint(name, known))


def load_plugins(group: str, kind: type | None = None) -> dict[str, Any]:
    return {point.name: _loaded(point, kind) for point in entry_points(group=group)}


def load_attribute(text: str, what: str) -> Any:
    """Import `package.module:attribute`; `what` begins the sentence of an error."""
    module, _, attribute = text.partition(":")
    try:
        found: Any = import_module(module)
        for each in attribute.split("."):
            found = getattr(found, each)
    except Exception as exc:  # importing a package may raise anything
        raise _unusable(what, text, exc) from exc
    return found


def _loaded(point: EntryPoint, kind: type | None) -> Any:
    package = f" of {point.dist.name}" if point.dist else ""
    what = f"The entry point {point.name!r} in group {point.group}{package}"
    try:
        found = point.load()
    except Exception as exc:  # importing a package may raise anything
        raise _unusable(what, point.value, exc) from exc
    if kind is not None and not isinstance(found, kind):
        raise UsageError(
            f"{what} is not a {kind.__name__}.",
            f"{point.value} must refer to an instance of {kind.__module__}.{kind.__name__}.",
        )
    return found


def _unusable(what: str, text: str, exc: Exception) -> UsageError:
    return UsageError(
        f"{what} cannot be imported: {text} raised {type(exc).__name__}: {exc}.",
        "Repair or uninstall the package.",
    )
