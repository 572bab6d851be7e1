"""What ends a search early, and is no reason to lose what it has found."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autotune.disk import is_of_a_folder

Interruption = KeyboardInterrupt | OSError
"""Ctrl-C, or a disk that takes no more, or whose folder is gone."""
INTERRUPTIONS = (KeyboardInterrupt, OSError)


def interruption(error: Interruption) -> Interruption:
    """Return what ended a search early, or raise what is something else."""
    if isinstance(error, OSError) and not is_of_a_folder(error):
        raise error
    return error


@contextmanager
def uninterrupted() -> Iterator[list[int]]:
    """Let Ctrl-C and SIGTERM come too late where a result is being made; give those that came."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # Signals interrupt the main thread alone.
        return
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in before:
            signal.signal(each, lambda number, _: came.append(number))
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)
