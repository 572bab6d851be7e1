"""The installed command in real processes, in a project folder as a user has one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMAND = Path(sys.executable).with_name("autotune")
DIGITS = ("examples/digits.py:model_fn", "examples/digits.py:dataset_fn")

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
HANGS = 550
"""Seconds after which a command hangs rather than being slow."""


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a blank in its name, an example, and factories that are wrong."""
    folder = tmp_path_factory.mktemp("my project")
    (folder / "examples").mkdir()
    for name in ("digits.py", "workloads.toml"):
        shutil.copy(EXAMPLES / name, folder / "examples")
    shutil.copy(Path(__file__).with_name("wrong.py"), folder)
    (folder / "axis.yaml").write_text("strategies: [one_device]\naxes: {image_size: [96, 128]}\n")
    (folder / "prefetsh.yaml").write_text("strategies: [one_device]\naxes: {prefetsh: [2]}\n")
    (folder / "no_fit.py").write_text("import keras\nwhile True:\n    m.train_on_batch(1)\n")
    return folder


@pytest.fixture(scope="session")
def command() -> Path:
    return COMMAND


@pytest.fixture(scope="session")
def run(project: Path) -> Run:
    """Runs the command in the project; it finds the engines of this folder."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {"PYTHONPATH": os.pathsep.join(paths)}

    def run(*arguments: str | Path, timeout: float = HANGS) -> Done:
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=project,
            env={**os.environ, **found},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def search(run: Run) -> Done:
    """One search, which many tests look at, with time for five runs by a clock that counts them."""
    limits = ("--max-trials", "3", "--engine", "counting:Counting", "--budget", "800s")
    copies = ("--config", "copy.json", "--script", "copy.py")
    return run("tune", *DIGITS, "--space", "quick", *limits, "--json", *copies)
