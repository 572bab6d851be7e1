"""One of the processes of a task: its program, and how it reports what it found."""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from autotune.engine import events
from autotune.engine.child.script import end_with_fit
from autotune.engine.events import EventWriter, TrialFolder
from autotune.library import FOLDER

PROGRAM = "autotune_train"
"""Name of the program's module. Plain `train` may be a file of the user's, which it imports."""
ENDLESS = 1_000_000_000
"""Epochs. The tuner ends a trial, not the program."""


def execute(script: Path, text: str) -> ModuleType:
    """Run the top level of a program's text."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(1, str(FOLDER))  # Where it is delivered, they lie beside it.
    program = ModuleType(PROGRAM)
    program.__file__ = str(script)
    sys.modules[PROGRAM] = program
    sys.argv = [str(script)]
    code = compile(text, str(script), "exec")
    exec(code, program.__dict__)  # noqa: S102 - running this program is the purpose
    return program


class Member:
    def __init__(self, folder: TrialFolder, index: int) -> None:
        self.folder = folder
        self.index = index
        self.writer = EventWriter(folder.events(index))
        self.request: dict[str, Any] = json.loads(folder.request.read_text(encoding="utf-8"))

    def program(self) -> ModuleType:
        script = self.folder.script
        program = execute(script, script.read_text(encoding="utf-8"))
        for name in self.request["by_value"]:
            import cloudpickle  # noqa: PLC0415 - few trials need it

            setattr(program, name, cloudpickle.loads(self.folder.pickled(name).read_bytes()))
        if hasattr(program, "script"):
            end_with_fit(program, validates=self.request.get("validates", False))
        return program

    def arguments(self, **options: object) -> list[str]:
        """Return the arguments of a program, which trains until it is ended unless they say so.

        It validates, and saves as it does by itself, only where that is requested.
        """
        given = {"epochs": ENDLESS, "seed": self.request["seed"], **options}
        pairs = [text for name, value in given.items() for text in (f"--{name}", str(value))]
        without = ("--no-validation", "--no-resume") if not self.request.get("validates") else ()
        return [*pairs, *without]

    def announce(self, what: str) -> None:
        """Say what is done next, so that the tuner knows what blocks."""
        self.writer.write(events.DOING, what=what)

    def leave(self, answer: Mapping[str, Any]) -> None:
        """Leave an answer, which may not be the last."""
        write_whole(self.folder.answers(self.index), json.dumps(answer).encode())

    def finish(self, answer: Mapping[str, Any]) -> NoReturn:
        """Leave the answer, and stay until the tuner, which waits for all, ends every process.

        A worker that left would take its connections with it while the others still need them.
        """
        self.leave(answer)
        self.writer.write(events.ANSWERED)
        while True:
            time.sleep(1)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there either whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one
