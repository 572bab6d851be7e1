"""The commands that a user gives: `autotune tune train.py`, then `python autotune-out/train.py`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune import Result
from autotune.strategies import in_short

AUTOTUNE = Path(sys.executable).with_name("autotune")
OUT = "autotune-out"
STEPS = 8
TRAINED = re.compile(rf"^{STEPS}/{STEPS} - ", re.MULTILINE)
"""What Keras prints after an epoch of so many steps."""


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


def tune(command: Command, script: str, options: Sequence[str]) -> dict[str, str]:
    """Return the verdict on a script, or why there is none."""
    status, printed = command.run(str(AUTOTUNE), "tune", script, *options)
    if status is None:
        return {"reason": f"was stopped after {command.seconds:g} s"}
    try:
        result = Result.load(command.folder / OUT)
    except Exception:  # noqa: BLE001 - it says itself why there is none
        return {"reason": printed[printed.rfind("Error: ") :][:600]}
    return {"verdict": f"{result.verdict}: {in_short(result.config)}"}


def deliver(command: Command) -> dict[str, str | bool]:
    """Return whether the program that was handed over trains, and what it did not do."""
    program = next(p for n in ("launch.py", "train.py") if (p := command.folder / OUT / n).exists())
    few = ("--epochs", "1", "--steps-per-epoch", str(STEPS), "--verbose", "2")
    status, printed = command.run(sys.executable, str(program), *few)
    lines = [line for line in printed.splitlines() if line.strip()]
    why = f"ends in: {lines[-1][:300]}" if status and lines else ""
    if status is None:
        why = f"was stopped after {command.seconds:g} s"
    return {"trains": bool(TRAINED.search(printed)), "reason": why}
