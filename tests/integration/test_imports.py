"""What commands, services and trial processes import, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_the_fork_server_is_light() -> None:
    """Its program, and what a child finds before the user's code, need nothing that we need."""
    heavy = ["pydantic", "psutil", "optuna", "tensorflow", "numpy"]
    code = (
        f"import sys, autotune.engine.fork_server; sys.exit(any(m in sys.modules for m in {heavy}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SLOW = {"tensorflow", "keras", "optuna", "scipy", "pandas"}
"""What takes from half a second to several to be imported."""
DATABASE = {"sqlmodel", "sqlalchemy", "fastapi"}


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("import autotune", SLOW | DATABASE),
        ("from autotune import autotune", SLOW | DATABASE),
        ("import autotune.api.http.app", SLOW),
        ("import autotune.api.work.worker", SLOW),
    ],
)
def test_import_leaves_what_is_slow_alone(statement: str, slow: set[str]) -> None:
    """TensorFlow is imported by trial processes only, the rest when a search begins."""
    code = f"import sys; {statement}; print(*({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_neither_package_is_imported_before_it_is_needed() -> None:
    """A result needs none of what shows it."""
    code = (
        "import sys, autotune.result;"
        "sys.exit(bool({'pandas', 'IPython', 'tensorflow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_check_of_code_imports_nothing_heavy(tmp_path: Path) -> None:
    """Neither TensorFlow nor the search, nor the code that is checked."""
    (tmp_path / "bad.py").write_text("import tensorflow as tf\n\ntf.device('/gpu:x')\n")
    code = (
        "import sys; from autotune.cli import app;"
        "app(['doctor', 'bad.py'], standalone_mode=False);"
        "slow = {'tensorflow', 'keras', 'optuna', 'scipy', 'numpy', 'bad'};"
        "sys.exit(bool(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("bad.py:3:")


def test_help_needs_nothing_heavy() -> None:
    """Neither TensorFlow nor the search is imported to print the help."""
    code = (
        "import sys; from autotune.cli import app; app(['--help'], standalone_mode=False);"
        "slow = {'tensorflow', 'optuna', 'sqlmodel', 'scipy', 'numpy', 'pydantic', 'fastapi'};"
        "sys.exit(bool(slow & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tab_does_not_wait_for_the_search() -> None:
    """Neither spaces nor strategies are imported for their names."""
    code = (
        "import sys; from autotune.cli.options import space_names, strategy_names;"
        "space_names(''), strategy_names('');"
        "slow = {'autotune.space', 'autotune.strategies', 'scipy', 'tensorflow'};"
        "sys.exit(bool(slow & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
