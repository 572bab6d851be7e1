"""The formatter and the linter have nothing to change in a program."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.program.text import literal
from tests.golden import deliver, golden_texts

GOLDEN = Path(__file__).parents[2] / "unit" / "program" / "golden"
PROGRAMS = sorted(name for name in golden_texts() if name.endswith(".py"))


def test_the_programs_are_formatted(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "ruff.toml", tmp_path)
    for name in PROGRAMS:
        deliver(tmp_path / name, golden_texts()[name])
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "format", "--check", "--no-cache", tmp_path], check=True)
    subprocess.run([*ruff, "check", "--no-cache", tmp_path], check=True)


@pytest.mark.parametrize("value", ["plain", "it's", 'a "b"', "' and \"", '\'""', "a\nb", "\\'\""])
def test_strings_are_quoted_as_the_formatter_does(value: str) -> None:
    line = f"x = {literal(value)}\n"
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    done = subprocess.run(ruff, input=line, capture_output=True, text=True, check=True)
    assert done.stdout == line
