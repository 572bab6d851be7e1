"""Named places at which a test lets the process die, to show that nothing is lost there.

Each stands before or after a durable step. They do nothing unless an operator, or a test, sets
both variables.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

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
    # In the process, after the events of these kinds.
    PLANNED = "planned"
    TRIAL_STARTED = "trial_started"
    TRIAL_ENDED = "trial_ended"
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


def reach(point: str) -> None:
    """Die here by SIGKILL if that is wanted, once."""
    flag = os.environ.get(FAIL_FLAG)
    if flag and os.environ.get(FAIL_AT) == point:
        with suppress(FileExistsError):
            Path(flag).touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
