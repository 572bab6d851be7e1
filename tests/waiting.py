"""Waiting for what other processes do."""

import time
from collections.abc import Callable


def happens(look: Callable[[], object], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def until(look: Callable[[], object], seconds: float = 300.0) -> None:
    assert happens(look, seconds), "it took too long"
