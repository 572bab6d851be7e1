"""How an exception in a trial is told to the tuner."""

from __future__ import annotations

import os
import signal
import sysconfig
import traceback
from typing import Any

LINES = 15
"""Of a traceback or an output, as many as people read."""
STACK_SIGNAL = signal.SIGUSR2
"""Makes a process that hangs print where it stands."""
_LONGEST = 4000
"""Characters of a message. TensorFlow's may carry a whole graph."""
_LIBRARIES = (
    os.path.join(sysconfig.get_path("stdlib"), ""),  # noqa: PTH118 - with a slash at its end
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ""),  # noqa: PTH100, PTH118, PTH120 - this package, as frames name it
)
_INSTALLED = ("/site-packages/", "/dist-packages/", "__autograph_generated_file")


def describe(exc: BaseException) -> dict[str, Any]:
    """Return kind, message, place in the user's code, and last lines of an exception."""
    text = "".join(traceback.format_exception(exc))
    return {
        "kind": type(exc).__name__,
        "message": str(exc)[:_LONGEST],
        "where": _place(exc),
        "detail": last_lines(text),
    }


def last_lines(text: str, count: int = LINES) -> str:
    """Return the last lines that hold anything."""
    lines = [line[:500] for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])


def _place(exc: BaseException) -> str:
    """Return file and line of the innermost frame that is neither Python's, a library's nor ours.

    Empty where there is none.
    """
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{os.path.basename(exc.filename)} line {exc.lineno}"  # noqa: PTH119 - may be no path
    for frame in reversed(traceback.extract_tb(exc.__traceback__)):
        if _is_users(frame.filename):
            return f"{os.path.basename(frame.filename)} line {frame.lineno}"  # noqa: PTH119 - as above
    return ""


def _is_users(file: str) -> bool:
    if file.startswith("<") or any(mark in file for mark in _INSTALLED):
        return False
    return not os.path.abspath(file).startswith(_LIBRARIES)  # noqa: PTH100 - may be no path
