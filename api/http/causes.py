"""Tells the log why an answer is the service's fault; callers learn nothing of it."""

from __future__ import annotations

import logging
import re
import traceback

from starlette.types import Scope

from autotune.api.errors import ServiceError
from autotune.api.log import say

LONGEST = 300
_PACKAGE = "autotune."
_HIDDEN = (
    (re.compile(r"\S+://\S+"), "(address)"),
    (re.compile(r"(?<![\w)])/\S+"), "(path)"),
    (re.compile(r"autotune_[\w-]{20,}"), "(key)"),
)
"""What the text of an error may hold that belongs in no log."""


def note(error: Exception, kind: str, status: int, route: str) -> None:
    """Log what is behind an error that is answered with 500 or more.

    Args:
        error: What was raised.
        kind: How it is answered.
        status: With which status.
        route: What was called.
    """
    root = _root(error)
    place = {} if isinstance(error, ServiceError) else {"where": _where(error)}
    say(
        "A request failed.",
        logging.ERROR if status == 500 else logging.WARNING,
        kind=kind,
        route=route,
        error=type(root).__name__,
        text=_text(root),
        **place,
    )


def route_of(scope: Scope) -> str:
    """Return the route of a request and not its address, which may hold anything."""
    return getattr(scope.get("route"), "path", None) or "none"


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _text(error: BaseException) -> str:
    """Return the first line of an error; what a database adds to it may hold values."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = (said.splitlines() or [""])[0]
    for what, instead in _HIDDEN:
        first = what.sub(instead, first)
    return first[:LONGEST]


def _where(error: Exception) -> str:
    """Return module and line of the last step within autotune."""
    steps = [
        f"{frame.f_globals['__name__']}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).startswith(_PACKAGE)
    ]
    return steps[-1] if steps else "none"
