"""Named places at which a test lets the process die, to show that nothing is lost there.

Each stands before or after a durable step. They do nothing unless an operator, or a test, sets
both variables.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum

FAIL_AT = "AUTOTUNE_FAIL_AT"
FAIL_FLAG = "AUTOTUNE_FAIL_FLAG"
"""Variable that names a file, which is made when the process dies there: it dies only once."""


class FailPoint(StrEnum):
    CLAIMED = "claimed"
    SWEPT = "swept"
    STARTED = "started"
    RECORDED = "recorded"
    ORDERED = "ordered"
    TUNING = "tuning"
    PLANNED = "planned"
    TRIAL_BEGAN = "trial-began"
    TRIAL_ENDED = "trial-ended"
    SEARCHED = "searched"
    """In the process, after the search and before its result is sent."""
    BEFORE_MESSAGE = "before-message"
    AFTER_MESSAGE = "after-message"
    AFTER_RENEWAL = "after-renewal"
    """The lease was renewed, or the state read."""
    FOUND = "found"
    """The result was received; the processes still run."""
    GONE = "gone"
    """All processes are gone; the end is not recorded."""
    FINISHED = "finished"


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
