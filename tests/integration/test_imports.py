"""What commands, services and trial processes import, each in a process of its own."""

from pathlib import Path

import pytest

from tests.running import python

SLOW = {"tensorflow", "keras", "optuna", "scipy", "pandas"}
"""What takes from half a second to several to be imported."""
DATABASE = {"sqlmodel", "sqlalchemy", "fastapi"}
COMMAND = "from autotune.cli import app; app({}, standalone_mode=False)"
NAMES = "from autotune.cli import options; options.space_names(''), options.strategy_names('')"


def run_without(statement: str, modules: set[str], folder: Path) -> str:
    """Return what a statement prints, which must import none of some modules."""
    code = f"import sys; {statement}; sys.exit(sorted({modules} & set(sys.modules)) or None)"
    return python(folder, "-c", code)


@pytest.mark.parametrize(
    ("statement", "modules"),
    [
        ("import autotune", SLOW | DATABASE),
        ("from autotune import autotune", SLOW | DATABASE),
        ("import autotune.api.http.app", SLOW),
        ("import autotune.api.work.worker", SLOW),
        # A result needs none of what shows it.
        ("import autotune.result", {"pandas", "IPython", "tensorflow"}),
        # What a child finds before the user's code needs nothing that we need.
        (
            "import autotune.engine.fork_server",
            {"pydantic", "psutil", "optuna", "tensorflow", "numpy"},
        ),
        # What types it waits for it: reading the installed packages takes 10 ms.
        (COMMAND.format(["--help"]), SLOW | DATABASE | {"numpy", "pydantic", "importlib.metadata"}),
        # Tab waits neither for spaces nor for strategies.
        (NAMES, {"autotune.space", "autotune.strategies", "scipy", "tensorflow"}),
    ],
)
def test_what_is_slow_is_left_alone(statement: str, modules: set[str], tmp_path: Path) -> None:
    """TensorFlow is imported by trial processes only, the rest when a search begins."""
    run_without(statement, modules, tmp_path)


def test_a_check_of_code_imports_nothing_heavy(tmp_path: Path) -> None:
    """Neither TensorFlow nor the search, nor the code that is checked."""
    (tmp_path / "bad.py").write_text("import tensorflow as tf\n\ntf.device('/gpu:x')\n")
    statement = COMMAND.format(["doctor", "bad.py"])
    shown = run_without(statement, SLOW | {"numpy", "bad"}, tmp_path)
    assert shown.startswith("bad.py:3:")
