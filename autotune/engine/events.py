"""What the tuner and the processes of a trial exchange: the files of its folder, and their events.

Events are lines of JSON, appended to a file of its own. A line is written by a single call, so that
it survives a process that is killed the next moment, and it carries the monotonic clock of the
host, so that a late reader loses no precision.
"""

import json
import os
import signal
import sysconfig
import time
import traceback
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

SCRATCH = "autotune-work-"
"""How the names of the folders begin in which a script that is timed works."""


class TrialFolder:
    """Names of the files through which the tuner and the processes of a trial talk."""

    def __init__(self, path: str | Path) -> None:
        # Absolute, because the processes that share it may each change their working folder.
        self.path = Path(path).absolute()
        self.script = self.path / "train.py"
        self.request = self.path / "request.json"
        """What the processes are to do, as JSON."""
        self.first_weights = self.path / "first-weights.pickle"
        """The weights before the first step, for a reference."""
        self.reference = self.path / "reference"
        """The folder of the run whose batches and first weights this one takes."""

    def create(self) -> Self:
        self.path.mkdir(parents=True)
        return self

    def answers(self, index: int) -> Path:
        """The answer of one process, as JSON."""
        return self.path / f"answer-{index}.json"

    def kept(self, index: int) -> Path:
        """The batches that one process trained on, for a reference."""
        return self.path / f"kept-{index}.pickle"

    def pickled(self, name: str) -> Path:
        """The function that is shipped by value under a global name of the program."""
        return self.path / f"{name}.pickle"

    def events(self, index: int) -> Path:
        """The events of one process, a line of JSON each."""
        return self.path / f"events-{index}.jsonl"

    def output(self, index: int) -> Path:
        return self.path / f"output-{index}.txt"

    def given(self) -> dict[str, Path]:
        """Return the files that processes read, by their path in this folder."""
        own = [self.script, self.request, *self.path.glob("*.pickle")]
        taken = self.reference.glob("*.pickle")
        return {str(each.relative_to(self.path)): each for each in (*own, *taken) if each.exists()}


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
    STEPPING_ON = "making more steps of its fit"
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


SAID = "{error}"
"""Stands in a sentence for what an exception says, until the tuner puts it into words."""
LINES = 15
"""Of a traceback or an output, as many as people read."""
STACK_SIGNAL = signal.SIGUSR2
"""Makes a process that hangs print where it stands."""
_LONGEST = 4000
"""Characters of a message. TensorFlow's may carry a whole graph."""
_LONGEST_LINE = 500
_OURS = f"{Path(__file__).absolute().parents[1]}/"
_LIBRARIES = (f"{sysconfig.get_path('stdlib')}/", _OURS)
_INSTALLED = ("/site-packages/", "/dist-packages/", "__autograph_generated_file")


def describe(exc: BaseException) -> dict[str, Any]:
    """Return kind, message, place in the user's code, and last lines of an exception."""
    return {
        "kind": type(exc).__name__,
        "message": (exc.msg if isinstance(exc, SyntaxError) else str(exc))[:_LONGEST],
        "where": _place(exc),
        "detail": last_lines(trace(exc)),
    }


def trace(exc: BaseException) -> str:
    """Return the traceback from the user's program on."""
    start = exc.__traceback__
    while start and start.tb_frame.f_code.co_filename.startswith(_OURS):
        start = start.tb_next
    return "".join(traceback.format_exception(type(exc), exc, start))


def last_lines(text: str, count: int = LINES) -> str:
    """Return the last lines of an output that are not about this package."""
    # The outer frames of a stack are ours.
    ours = (f'  File "{_OURS}', '  File "<string>"', "Extension modules:")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(ours)]
    return "\n".join(line[:_LONGEST_LINE] for line in lines[-count:])


def _place(exc: BaseException) -> str:
    """Return file and line of the innermost frame that is neither Python's, a library's nor ours.

    Empty where there is none.
    """
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{os.path.basename(exc.filename)} line {exc.lineno}"  # noqa: PTH119 - may be no path
    for frame in reversed(traceback.extract_tb(exc.__traceback__)):
        file = frame.filename
        installed = file.startswith("<") or any(mark in file for mark in _INSTALLED)
        if not installed and not os.path.abspath(file).startswith(_LIBRARIES):  # noqa: PTH100 - may be no path
            return f"{os.path.basename(file)} line {frame.lineno}"  # noqa: PTH119 - as above
    return ""
