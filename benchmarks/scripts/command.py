"""The commands that a user gives: `autotune tune train.py`, then `python autotune-out/train.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune import Result
from benchmarks.delivered.program import ENDLESS, LongRun, NoRate

AUTOTUNE = Path(sys.executable).with_name("autotune")
OUT = "autotune-out"
SETTLED = 10.0
"""Seconds past the first call before a rate is measured."""
STEPS = 8
TRAINED = re.compile(rf"^{STEPS}/{STEPS} - ", re.MULTILINE)
"""What Keras prints after an epoch of so many steps."""
ERROR = re.compile(r"^[\w.]*(Error|Exception)\b", re.MULTILINE)
"""Where Python, or autotune, says what ended a program."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """Where commands run, and how long each may take."""

    folder: Path
    seconds: float
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> tuple[int | None, str]:
        """Return the exit status, None if it took too long, and what was printed."""
        with subprocess.Popen(
            arguments,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                process.terminate()  # launch.py ends its workers at this.
                printed, _ = process.communicate()
                return None, printed
        return process.returncode, printed


def tune(command: Command, script: str, options: Sequence[str]) -> Result | str:
    """Return the result for a script, or why there is none."""
    status, printed = command.run(str(AUTOTUNE), "tune", script, *options)
    if status is None:
        return f"was stopped after {command.seconds:g} s"
    try:
        return Result.load(command.folder / OUT)
    except Exception:  # noqa: BLE001 - it says itself why there is none
        return printed[printed.rfind("Error: ") :][:600]


def rate(command: Command, result: Result, seconds: float) -> float | str:
    """Return the examples per second at which the program trains, or why there are none.

    It trains in one long epoch, because what follows an epoch is the script's own: it validates.
    """
    run = LongRun(
        seconds=seconds,
        first_epoch=SETTLED,
        arguments=("--epochs", "1", "--steps-per-epoch", ENDLESS),
        folder=command.folder,
        environment=command.environment,
    )
    try:
        return run.rate(result, command.folder / OUT)
    except NoRate as exc:
        return _end(str(exc)) or "came to no rate"


def finish(command: Command) -> tuple[bool, str]:
    """Return whether the program comes through a short epoch, and what it did not do after that."""
    program = next(p for n in ("launch.py", "train.py") if (p := command.folder / OUT / n).exists())
    few = ("--epochs", "1", "--steps-per-epoch", str(STEPS), "--verbose", "2")
    status, printed = command.run(sys.executable, str(program), *few)
    why = _end(printed) if status else ""
    if status is None:
        why = f"was stopped after {command.seconds:g} s"
    return bool(TRAINED.search(printed)), why


def _end(printed: str) -> str:
    """Return the last error in what was printed, or else its last line, if there is one."""
    errors = [found.start() for found in ERROR.finditer(printed)]
    last = printed[errors[-1] :] if errors else printed.rstrip().rpartition("\n")[2]
    return f"ends in: {last[:300].rstrip()}" if last.strip() else ""
