"""Moves the clock that a Python process sees, by the seconds that a variable names."""

import os
import time

SECONDS = float(os.environ.get("AUTOTUNE_TEST_CLOCK", "0"))
_true = time.time


def _moved() -> float:
    return _true() + SECONDS


if SECONDS:
    time.time = _moved
