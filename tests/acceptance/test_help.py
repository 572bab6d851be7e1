"""The help of the command, which whoever types it waits for."""

import subprocess
import sys

SLOW = {"importlib.metadata", "pydantic_core", "numpy", "optuna", "tensorflow"}
"""From 10 ms for what reads the installed packages to seconds for TensorFlow."""


def test_the_help_imports_nothing_that_takes_long() -> None:
    program = "import sys; from autotune.cli import app; print(*sys.modules)"
    call = [sys.executable, "-c", program]
    found = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    assert "typer" in found
    assert SLOW & {*found} == set()
