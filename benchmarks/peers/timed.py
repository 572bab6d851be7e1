"""Runs a training program with a stopwatch in it.

    python -m benchmarks.peers.timed PROGRAM EXAMPLES_PER_CALL SECONDS WINDOWS

Prints a line with the examples per second of each window, and leaves after the last one.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

from benchmarks.peers.mark import MARK
from benchmarks.peers.stopwatch import Stopwatch, train

_PR_SET_PDEATHSIG = 1


def main(program: str, examples: str, seconds: str, windows: str) -> None:
    """Train in this process, which lives no longer than the one that started it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    missing = int(windows)

    def report(rate: float) -> None:
        nonlocal missing
        missing -= 1
        print(f"{MARK}{rate}", flush=True)
        if not missing:
            # The exit handlers of a gang's worker would wait for the others.
            os._exit(0)

    train(Path(program), Stopwatch(int(examples), float(seconds), int(windows), report))


if __name__ == "__main__":
    main(*sys.argv[1:])
