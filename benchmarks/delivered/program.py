"""Runs the program that a search handed over, for some time, in processes without autotune."""

import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer

from autotune import Result

LONG_RUN = Path(__file__).with_name("long_run.py")
MARK = "examples per second: "
WARM_UP = 3.0
"""Seconds past the first call."""
PATIENCE = 120.0
"""Seconds for a program to start and compile, beside those of the run."""
ENDLESS = "1000000"


class NoRate(Exception):
    """A program ended, or was ended, before it had trained for so long."""


@dataclass(frozen=True, kw_only=True)
class LongRun:
    """How a program is run.

    Attributes:
        seconds: That are measured.
        first_epoch: Seconds after which the clock starts even if the first epoch goes on.
        arguments: Of the program; by default it trains epoch after epoch.
        folder: Where it runs; None is here.
        environment: Beside that of this process.
    """

    seconds: float
    first_epoch: float = 30.0
    arguments: Sequence[str] = ("--epochs", ENDLESS)
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def rate(self, result: Result, out: Path) -> float:
        """Return the examples per second of a result's program, whose files lie in a folder.

        Raises:
            NoRate: It did not train for so long.
        """
        times = [str(each) for each in (WARM_UP, self.first_epoch, self.seconds)]
        program, batch = str(out / "train.py"), str(result.config.global_batch)
        run = [sys.executable, str(_first_process(result, out))]
        return self._run([*run, MARK, program, batch, *times, *self.arguments])

    def _run(self, command: Sequence[str]) -> float:
        """Return the examples per second of one run, and leave nothing of it behind."""
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            # launch.py ends its workers at this; a training of one process just goes.
            watchdog = Timer(PATIENCE + self.first_epoch + self.seconds, process.terminate)
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
        raise NoRate("".join(printed))


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
