"""What the installed doctor finds in whole programs.

Some hold the plainest forms of mistakes that people asked about, in the words of nobody but us, the
others faults of start-up and of Keras 3.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import FIELD, Run

PROGRAMS = FIELD / "doctor"
MARK = re.compile(r"  # (?P<rule>[a-z-]+)$")
"""Ends the lines of a program in which that rule must find something."""


@pytest.fixture(scope="module")
def findings(run: Run) -> dict[str, list[tuple[int, str]]]:
    """What the doctor finds in the folder of programs, by file."""
    done = run("doctor", PROGRAMS, "--output-format", "json")
    assert done.returncode == 1, done.stderr
    found: dict[str, list[tuple[int, str]]] = {}
    for each in json.loads(done.stdout)["findings"]:
        name = Path(each["place"]["file"]).name
        found.setdefault(name, []).append((each["place"]["line"], each["rule"]))
    return found


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda each: each.stem)
def test_each_fault_is_found_in_its_line(
    program: Path, findings: dict[str, list[tuple[int, str]]]
) -> None:
    """There and nowhere else; programs without a mark are right."""
    lines = enumerate(program.read_text("utf-8").splitlines(), start=1)
    marked = [(number, found["rule"]) for number, line in lines if (found := MARK.search(line))]
    assert findings.get(program.name, []) == marked
