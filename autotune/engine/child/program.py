"""Loads the training program as a module."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from autotune.engine.child.script import end_with_fit
from autotune.engine.folder import TrialFolder

PROGRAM = "autotune_train"
"""Name of the program's module. Plain `train` may be a file of the user's, which it imports."""


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
