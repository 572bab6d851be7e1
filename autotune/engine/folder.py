"""The files of a trial, the one place that builds their names, and folders for temporary files."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

SCRATCH = "autotune-work-"
"""How the names of the folders begin in which a script that is timed works."""
_NEW = "autotune-new-"
"""Begins the name of a folder that is not locked yet."""
_LOCKED = "autotune-host-"


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

    def create(self) -> TrialFolder:
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


class Scratch:
    """A new folder for temporary files, which goes with its owner, also if that was killed.

    What others have left that were killed is removed first.
    """

    def __init__(self) -> None:
        made = Path(tempfile.mkdtemp(prefix=_NEW))
        lock = _locked(made)
        self.path = made.rename(made.with_name(made.name.replace(_NEW, _LOCKED)))
        # Also without a call: when this is collected, or at the end of the process.
        self.remove = weakref.finalize(self, _remove, self.path, lock)
        for left in made.parent.glob(f"{_LOCKED}*"):
            if (free := _locked(left)) is not None:
                _remove(left, free)


def flocked(file: int) -> bool:
    """Return whether an open file could be locked; another lock is not waited for."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked(folder: Path) -> int | None:
    """Return a descriptor that locks a folder until it is closed; None if it is locked."""
    with suppress(OSError):  # It is gone, or another user's.
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        if flocked(file):
            return file
        os.close(file)
    return None


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
