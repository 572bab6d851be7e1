"""What the doctor takes for granted is tried out by programs, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TryOut = Callable[[str, Any], dict[str, Any]]


@pytest.fixture(scope="session")
def try_out() -> TryOut:
    """Return a function that gives what a program of `programs` tells of what it is asked."""

    def try_out(program: str, asked: Any) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, Path(__file__).parent / "programs" / program],
            input=json.dumps(asked),
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    return try_out
