"""The formatter and the linter have nothing to change in a program."""

import shutil
import subprocess
import sys
from pathlib import Path

from autotune.program.text import literal
from tests.golden import deliver, golden_texts

GOLDEN = Path(__file__).parents[2] / "unit" / "program" / "golden"


def test_the_programs_are_formatted(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "ruff.toml", tmp_path)
    for name, text in golden_texts().items():
        if name.endswith(".py"):
            deliver(tmp_path / name, text)
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "format", "--check", "--no-cache", tmp_path], check=True)
    subprocess.run([*ruff, "check", "--no-cache", tmp_path], check=True)


def test_strings_are_quoted_as_the_formatter_does() -> None:
    values = ("plain", "it's", 'a "b"', "' and \"", '\'""', "a\nb", "\\'\"")
    lines = "".join(f"x = {literal(value)}\n" for value in values)
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    done = subprocess.run(ruff, input=lines, capture_output=True, text=True, check=True)
    assert done.stdout == lines
