"""One of the processes of a task: what it is given, and how it reports what it found."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from autotune.engine import events
from autotune.engine.child.program import load_program
from autotune.engine.events import EventWriter
from autotune.engine.folder import TrialFolder

ENDLESS = 1_000_000_000
"""Epochs. The tuner ends a trial, not the program."""


class Member:
    """This process."""

    def __init__(self, folder: TrialFolder, index: int) -> None:
        self.folder = folder
        self.index = index
        self.writer = EventWriter(folder.events(index))

    @cached_property
    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = json.loads(self.folder.request.read_text(encoding="utf-8"))
        return request

    def program(self, text: str | None = None) -> ModuleType:
        """Run the program's top level, or that of another text in its place."""
        return load_program(self.folder, self.request["by_value"], text)

    def arguments(self, **options: object) -> list[str]:
        """Return the arguments of a program, which trains until it is ended unless they say so."""
        given = {"epochs": ENDLESS, "seed": self.request["seed"], **options}
        return [text for name, value in given.items() for text in (f"--{name}", str(value))]

    def leave(self, answer: Mapping[str, Any]) -> None:
        """Leave an answer, which may not be the last."""
        write_whole(self.folder.answers(self.index), json.dumps(answer).encode())

    def finish(self, answer: Mapping[str, Any] | None = None) -> NoReturn:
        """Leave the answer, and stay until the tuner, who waits for all, ends every process.

        A worker that left would take its connections with it while the others still need them.
        """
        if answer is not None:
            self.leave(answer)
        self.writer.write(events.ANSWERED)
        while True:
            time.sleep(1)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there either whole or not at all."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(data)
    os.replace(draft, path)  # noqa: PTH105 - the atomic one
