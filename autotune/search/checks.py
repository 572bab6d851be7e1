"""What is wrong with a request and can be told at once, before anybody waits for anything."""

from __future__ import annotations

import os
import re
from pathlib import Path

from autotune.errors import OutputError, UsageError
from autotune.objective import objective_named
from autotune.search.request import TuningRequest
from autotune.space import AUTO, Space, check_arguments, load_space


def check(request: TuningRequest) -> None:
    """Make sure that a search can begin, and that its output folder is there.

    Raises:
        UsageError: It cannot; the text says why.
    """
    if request.study is not None:
        _check_name(request.study)
    if request.options.budget is None and request.options.max_trials is None:
        raise UsageError(
            "The search needs a limit.", "Set a budget or a number of trials (max_trials)."
        )
    objective_named(request.options.objective)
    named_space(request)
    _check_output(request.out)


def named_space(request: TuningRequest) -> Space | None:
    """Return the space that was asked for, or None where the machine decides.

    Raises:
        SpaceError: There is no such space, or it is wrong.
        ConfigurationError: A fixed argument is autotune's to fill.
    """
    asked = request.space
    space = load_space(asked) if isinstance(asked, str) and asked != AUTO else asked
    named = space if isinstance(space, Space) else None
    check_arguments(request.workload, named.own_axes if named else ())
    return named


def _check_name(name: str) -> None:
    """Make sure that a study's name can be the name of a folder too."""
    if not re.fullmatch(r"[\w-][\w.-]{0,99}", name):
        raise UsageError(
            f"{name!r} is not a valid study name.",
            "Use up to 100 letters, digits, '-', '_' and '.', not starting with '.'.",
        )


def _check_output(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise OutputError(
            f"{out} cannot be created: {exc.strerror or exc}.", "Choose another --out."
        ) from exc
    if not os.access(out, os.W_OK | os.X_OK):
        raise OutputError(f"{out} is not writable.", "Choose another --out.")
