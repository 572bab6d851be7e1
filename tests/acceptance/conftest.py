"""The installed command in real processes, in a project folder as a user has one."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.service import COMMAND, PATH

HERE = Path(__file__).parent
FIELD = HERE / "field"
EXAMPLES = HERE.parents[1] / "examples"
DIGITS = ("examples/digits.py:model_fn", "examples/digits.py:dataset_fn")
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
HANGS = 550
"""Seconds after which a command hangs rather than being slow."""


def counted(trials: int, seconds: int) -> tuple[str, ...]:
    """Return the options of a search with a clock that counts 150 s for each run.

    The training is long, so that such runs pay.
    """
    clock = ("--engine", "counting:Counting", "--train-for", "500h")
    return ("--max-trials", str(trials), "--budget", f"{seconds}s", *clock)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a blank in its name, and an example."""
    folder = tmp_path_factory.mktemp("my project")
    (folder / "examples").mkdir()
    for name in ("digits.py", "workloads.toml"):
        shutil.copy(EXAMPLES / name, folder / "examples")
    return folder


@pytest.fixture(scope="session")
def run(project: Path) -> Run:
    def run(*arguments: str | Path, folder: Path = project) -> Done:
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=folder,
            env={**os.environ, **PATH},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )

    return run
