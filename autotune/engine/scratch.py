"""A folder for temporary files that goes with its owner, also if the owner was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

_NEW = "autotune-new-"
"""Begins the name of a folder that is not locked yet."""
_LOCKED = "autotune-host-"


class Scratch:
    """A new folder. What others have left that were killed is removed first."""

    def __init__(self) -> None:
        made = Path(tempfile.mkdtemp(prefix=_NEW))
        lock = _locked(made)
        self.path = made.rename(made.with_name(made.name.replace(_NEW, _LOCKED)))
        # Also where nobody calls `remove`: when it is collected, or at the end of the process.
        self._remove = weakref.finalize(self, _remove, self.path, lock)
        for left in made.parent.glob(f"{_LOCKED}*"):
            if (free := _locked(left)) is not None:
                _remove(left, free)

    def remove(self) -> None:
        """Remove the folder; may be called twice."""
        self._remove()


def _locked(folder: Path) -> int | None:
    """Return a descriptor that locks a folder until it is closed; None if somebody else has one."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # gone, or another user's
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
