"""What commands, services and trial processes import, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_the_fork_server_is_light() -> None:
    """Its program, and what a child finds before the user's code, need nothing that we need."""
    heavy = ["pydantic", "psutil", "optuna", "tensorflow", "numpy"]
    code = f"import sys, autotune.run.fork_server; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SLOW = {"tensorflow", "keras", "optuna", "scipy", "pandas"}
"""What takes from half a second to several to be imported."""
DATABASE = {"sqlmodel", "sqlalchemy", "fastapi"}


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("import autotune", SLOW | DATABASE),
        ("from autotune import autotune", SLOW | DATABASE),
        ("import autotune.api.http.server", SLOW),
        ("import autotune.api.work.worker", SLOW),
    ],
)
def test_import_leaves_what_is_slow_alone(statement: str, slow: set[str]) -> None:
    """TensorFlow is imported by trial processes only, the rest when a search begins."""
    code = f"import sys; {statement}; print(*({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
