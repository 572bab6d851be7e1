"""Named places at which a test lets the process die, to show that nothing is lost there.

Each stands before or after a durable step. They do nothing unless an operator, or a test, sets
both variables.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum

FAIL_AT = "AUTOTUNE_FAIL_AT"
"""Variable that names the place."""
FAIL_FLAG = "AUTOTUNE_FAIL_FLAG"
"""Variable that names a file, which is made when the process dies there: it dies only once."""


class FailPoint(StrEnum):
    """A place between two durable steps."""

    CLAIMED = "claimed"
    """The job is claimed; nothing was started."""
    SWEPT = "swept"
    """What an earlier attempt left is gone."""
    STARTED = "started"
    """The process runs and is not recorded yet; it waits for its order."""
    RECORDED = "recorded"
    """The process is recorded; it has no order yet."""
    ORDERED = "ordered"
    """The process has its order."""
    TUNING = "tuning"
    """In the process, before the search begins."""
    PLANNED = "planned"
    """In the process, after its study was made."""
    TRIAL_BEGAN = "trial-began"
    """In the process, when a trial starts."""
    TRIAL_ENDED = "trial-ended"
    """In the process, after a trial was sent to the worker."""
    SEARCHED = "searched"
    """In the process, after the search and before its result is sent."""
    BEFORE_MESSAGE = "before-message"
    """A message was received and is not recorded."""
    AFTER_MESSAGE = "after-message"
    """A message was recorded."""
    AFTER_RENEWAL = "after-renewal"
    """The lease was renewed, or the state read."""
    FOUND = "found"
    """The result was received; the processes still run."""
    GONE = "gone"
    """All processes are gone; the end is not recorded."""
    FINISHED = "finished"
    """The end is recorded."""


def reach(point: FailPoint) -> None:
    """Die here by SIGKILL if that is wanted, once."""
    if os.environ.get(FAIL_AT) == point and _first(os.environ.get(FAIL_FLAG)):
        os.kill(os.getpid(), signal.SIGKILL)


def _first(flag: str | None) -> bool:
    if flag is None:
        return False
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
