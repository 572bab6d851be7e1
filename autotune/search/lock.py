"""Keeps a study to one search at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from autotune.errors import OutputError, UsageError

Claim = Callable[[str], None]
"""Takes the study of a name for this search; raises UsageError where another search has it."""


@contextmanager
def claims(folder: Path) -> Iterator[Claim]:
    """Give a way to claim studies of an output folder, and let go of them at the end.

    The kernel keeps the locks and drops them when the process ends, however it ends.
    """
    with ExitStack() as held:
        yield lambda study: _lock(folder / f".{study}.lock", study, held)


def _lock(path: Path, study: str, held: ExitStack) -> None:
    try:
        # The file stays: if it were removed, two searches could lock two files of one name.
        file = held.enter_context(path.open("a"))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise UsageError(
            f"Study {study!r} in {path.parent} is in use by another search.",
            "Wait until it ends, or omit --resume to create a new study.",
        ) from exc
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be locked: {exc.strerror or exc}.", "Choose another --out."
        ) from exc
