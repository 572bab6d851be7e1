"""Runs the program that a search handed over, for some time, in processes without autotune."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer

from autotune import Result

LONG_RUN = Path(__file__).with_name("long_run.py")
MARK = "examples per second: "
WARM_UP = 3.0
"""Seconds past the first call."""
FIRST_EPOCH = 30.0
"""Seconds after which the clock starts even if the first epoch goes on."""
PATIENCE = 120.0
"""Seconds for a program to start and compile, beside those of the run."""


def delivered(result: Result, folder: Path, seconds: float, repeats: int) -> tuple[float, ...]:
    """Return the examples per second of each run of a result's program.

    Args:
        result: Of a search.
        folder: Where its files lie.
        seconds: Of each run, from the second epoch on.
        repeats: How many runs.
    """
    command = _command(result, folder, seconds)
    return tuple(_run(command, seconds) for _ in range(repeats))


def _command(result: Result, folder: Path, seconds: float) -> list[str]:
    """Return what trains as the user would, with a clock in the first process."""
    times = [str(WARM_UP), str(FIRST_EPOCH), str(seconds)]
    program = str(folder / "train.py")
    arguments = [MARK, program, str(result.config.global_batch), *times]
    if result.launch is None:
        return [sys.executable, str(LONG_RUN), *arguments]
    # launch.py starts the train.py that lies beside it, and hands its own arguments on.
    gang = folder / "gang"
    gang.mkdir()
    shutil.copy(LONG_RUN, gang / "train.py")
    shutil.copy(folder / "launch.py", gang)
    return [sys.executable, str(gang / "launch.py"), *arguments]


def _run(command: Sequence[str], seconds: float) -> float:
    """Return the examples per second of one run, and leave nothing of it behind."""
    with subprocess.Popen(
        command,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        # launch.py ends its workers at this; a training of one process just goes.
        watchdog = Timer(PATIENCE + FIRST_EPOCH + seconds, process.terminate)
        watchdog.start()
        printed = []
        try:
            for line in process.stdout or ():
                printed.append(line)
                if MARK in line:
                    return float(line.partition(MARK)[2])
        finally:
            watchdog.cancel()
            process.terminate()
    raise SystemExit(f"{' '.join(command)} measured nothing:\n{''.join(printed[-20:])}")
