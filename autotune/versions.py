"""What is installed: the version of autotune, packages that only some uses need, and plugins."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec
from typing import Any

from autotune.errors import MissingPackage, UsageError
from autotune.text import hint

VERSION = version("autotune-keras")
"""Of the distribution: the name `autotune` on the package index is another project's."""
SERVICE = (
    *("asgi_correlation_id", "fastapi", "fastapi_offline", "prometheus_client"),
    *("psycopg", "pydantic_settings", "sqlmodel", "uvicorn"),
)
"""Modules of the packages that the service needs beside those of a search."""


def check_service() -> None:
    """Raise MissingPackage if a package of the service is not installed; import nothing."""
    for each in SERVICE:
        check_installed(each, by="The service", extra="service")


def check_installed(module: str, *, by: str, extra: str) -> None:
    """Raise MissingPackage if a module's package is not installed; import nothing."""
    package = module.partition(".")[0]
    if find_spec(package) is None:
        raise MissingPackage(
            f"{by} needs {package}, which is not installed.",
            f"Run `pip install {package}`, or `pip install '.[{extra}]'` in autotune's checkout.",
        )


def load_plugin(
    group: str, name: str, builtins: Mapping[str, str] | None = None, kind: type = object
) -> Any:
    """Import what a name stands for in a group of entry points, which must be of a kind.

    What is built in, as `package.module:attribute`, cannot be replaced by an entry point.
    """
    points = {each.name: each for each in entry_points(group=group)}
    points |= {each: EntryPoint(each, text, group) for each, text in (builtins or {}).items()}
    if name in points:
        return _loaded(points[name], kind)
    raise UsageError(f"Unknown {_noun(group)} {name!r}.", hint(name, points))


def load_plugins(group: str, kind: type = object) -> dict[str, Any]:
    return {point.name: _loaded(point, kind) for point in entry_points(group=group)}


def load_attribute(text: str, group: str) -> Any:
    """Import `package.module:attribute`, which takes the place of an entry point of a group."""
    return _loaded(EntryPoint(text, text, group))


def _loaded(point: EntryPoint, kind: type = object) -> Any:
    package = f" of {point.dist.name}" if point.dist else ""
    what = f"The {_noun(point.group)} {point.name!r}{package}"
    try:
        found = point.load()
    except Exception as exc:  # importing a package may raise anything
        raise UsageError(
            f"{what} cannot be imported: {point.value} raised {type(exc).__name__}: {exc}.",
            "Repair or uninstall the package.",
        ) from exc
    if not isinstance(found, kind):
        raise UsageError(
            f"{what} is not a {kind.__name__}.",
            f"{point.value} must refer to an instance of {kind.__module__}.{kind.__name__}.",
        )
    return found


def _noun(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s")
