"""Packages that only some uses need, and that are installed as extras."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from autotune.errors import MissingPackage

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
    """Return a module of an optional package.

    Args:
        module: Its name.
        by: What needs it, as `result.trials_frame()`.
        extra: The extra of autotune that brings it.

    Raises:
        MissingPackage: It is not installed.
    """
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
