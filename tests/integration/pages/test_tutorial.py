"""The tutorial's commands do on this machine what the page says, from the first to the last."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Example

from tools.docs.blocks import document
from tools.docs.pages import DOCS, ROOT

PAGE = DOCS / "start.md"
CLOCK = re.compile(r"^\s*\d+:\d\d\s+")
VARIES = re.compile(
    r"\.\.\.|->|^(?!Train:|Epoch ).*\d"  # left out, a recommended change, figures
    r"|^Searching for a distributed|^Measuring again|^Stay on one device|^search would"
)
"""Lines that another machine may not print: its search and its answer are its own."""
YOURS = "my.py"
"""Where the page leaves the example, and the reader's own files begin."""


def steps() -> list[tuple[str, str]]:
    """Return the commands of the page up to the reader's own, each with the output below it."""
    found: list[tuple[str, str]] = []

    def command(example: Example) -> None:
        found.append((example.parsed.strip().removeprefix("$ "), ""))

    def output(example: Example) -> None:
        found[-1] = (found[-1][0], example.parsed)

    for each in document(PAGE, {"console": command, "text": output}).examples():
        each.evaluate()
    return [each for each in found if YOURS not in each[0] and not each[0].startswith("pip ")]


def alike(line: str) -> str:
    return " ".join(re.sub(r"\d[\d,.]*", "0", CLOCK.sub("", line)).split())


def promised(output: str) -> set[str]:
    """Return the lines that every machine prints: those without figures, and the next steps."""
    lines = (CLOCK.sub("", each).strip() for each in output.splitlines())
    return {alike(each) for each in lines if each and not VARIES.search(each)}


@pytest.mark.real
def test_the_tutorial_runs(tmp_path: Path) -> None:
    """Each command succeeds in a folder with nothing but the examples, in some two minutes."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    programs = {"autotune": [sys.executable, "-m", "autotune"], "python": [sys.executable]}
    commands = steps()
    assert len(commands) == 3, "look before you search, search, train"
    for command, expected in commands:
        name, *words = shlex.split(command)
        done = subprocess.run(
            [*programs[name], *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stderr + done.stdout
        assert done.returncode == 0, printed
        assert promised(expected)
        assert promised(expected) - {alike(each) for each in printed.splitlines()} == set()
