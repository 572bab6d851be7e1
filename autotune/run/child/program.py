"""The training program as a module of a process that runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from autotune.run.folder import TrialFolder

PROGRAM = "autotune_train"
"""Name of the program's module. Plain `train` may be a file of the user's, which it imports."""


def load_program(folder: TrialFolder, by_value: Iterable[str]) -> ModuleType:
    """Run the program's top level.

    Args:
        folder: Holds it.
        by_value: Names of the factories that were shipped beside it, which take the place of its
            own.
    """
    program = _execute(folder.script)
    for name in by_value:
        setattr(program, name, _unpickle(folder.pickled(name)))
    return program


def _execute(script: Path) -> ModuleType:
    program = ModuleType(PROGRAM)
    program.__file__ = str(script)
    sys.modules[PROGRAM] = program
    sys.argv = [str(script)]
    code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
    exec(code, program.__dict__)  # noqa: S102 - running this program is the purpose
    return program


def _unpickle(path: Path) -> Callable[..., Any]:
    import cloudpickle  # noqa: PLC0415 - few trials need it

    function: Callable[..., Any] = cloudpickle.loads(path.read_bytes())
    return function
