"""What a process of a trial reports: lines of JSON, appended to a file of its own.

A line is written by a single call, so that it survives a process that is killed the next moment,
and it carries the monotonic clock of the host, so that a late reader loses no precision.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]
"""Has `event`, its kind, and `at`, in seconds of `time.monotonic`.

Any may have `result`: fields of the run's `RunResult` that the first process knows.
"""

STARTED = "started"
TRAIN_BEGIN = "train_begin"
FILLED = "filled"
FIRST_STEP = "first_step"
WINDOW = "window"
NAN = "nan"
ERROR = "error"
FINISHED = "finished"
DOING = "doing"
ANSWERED = "answered"


class Step(StrEnum):
    """A step of an inspection, announced by a `doing` event before it is taken."""

    STARTING = "starting"
    IMPORTING = "importing the user's code"
    RUNNING = "running the script up to its fit"
    STEPPING = "making the first step of its fit"
    CALLING_DATASET = "calling dataset_fn"
    FIRST_EXAMPLE = "reading the first example"
    CALLING_MODEL = "calling model_fn"
    TRYING = "running one training step"
    LOOKING = "iterating over the dataset"


class EventWriter:
    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)

    def write(self, event: str, **fields: object) -> None:
        """Append one event; what a full disk takes of it is no line."""
        line = json.dumps({"event": event, "at": time.monotonic(), **fields})
        left = line.encode() + b"\n"
        while left:
            left = left[os.write(self._file, left) :]


class EventReader:
    """Reads the events that were appended since it last looked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def read(self) -> list[Event]:
        """Return new events, oldest first; none while the file does not exist."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except FileNotFoundError:
            return []
        *lines, rest = new.split(b"\n")
        self._at += len(new) - len(rest)
        return [json.loads(line) for line in lines]
