"""Runs the program that a search handed over, for some time, in processes without autotune."""

import os
import shutil
import subprocess
import sys
from collections import deque
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


def rate_of(result: Result, out: Path, seconds: float, arguments: Sequence[str]) -> float:
    """Return the examples per second of a result's program, whose files lie in a folder.

    Nothing of the run is left behind.

    Args:
        result: Of a search.
        out: Its folder.
        seconds: That are measured.
        arguments: Of the program.

    Raises:
        RuntimeError: It did not train for so long.
    """
    program, batch = str(out / "train.py"), str(result.config.global_batch)
    run = [sys.executable, str(_first_process(result, out)), MARK, program, batch]
    with subprocess.Popen(
        [*run, str(WARM_UP), str(FIRST_EPOCH), str(seconds), *arguments],
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        # launch.py ends its workers at this; a training of one process just goes.
        watchdog = Timer(PATIENCE + FIRST_EPOCH + seconds, process.terminate)
        watchdog.start()
        printed = deque[str](maxlen=20)
        try:
            for line in process.stdout or ():
                printed.append(line)
                if MARK in line:
                    return float(line.partition(MARK)[2])
        finally:
            watchdog.cancel()
            process.terminate()
    raise RuntimeError("".join(printed))


def _first_process(result: Result, out: Path) -> Path:
    """Return the program that trains as the user would, with a clock in the first process."""
    if result.launch is None:
        return LONG_RUN
    # launch.py starts the train.py that lies beside it, and hands its own arguments on.
    gang = out / "gang"
    gang.mkdir(exist_ok=True)
    shutil.copy(LONG_RUN, gang / "train.py")
    shutil.copy(out / "launch.py", gang)
    return gang / "launch.py"
