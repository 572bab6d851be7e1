"""What the installed doctor finds in whole programs.

Some hold the plainest forms of mistakes that people asked about, in the words of nobody but us, the
others faults of start-up and of Keras 3.
"""

import json
import re
from pathlib import Path

import pytest

from .conftest import FIELD, Run

PROGRAMS = FIELD / "doctor"
MARK = re.compile(r"  # (?P<rule>[a-z-]+)(: (?P<says>.+))?$")
"""Ends the lines of a program in which that rule must find something, and what it must name."""


@pytest.fixture(scope="module")
def findings(run: Run) -> dict[str, list[tuple[int, str, str]]]:
    """What the doctor finds in the folder of programs, by file."""
    done = run("doctor", PROGRAMS, "--output-format", "json")
    assert done.returncode == 1, done.stderr
    found: dict[str, list[tuple[int, str, str]]] = {}
    for each in json.loads(done.stdout)["findings"]:
        name = Path(each["place"]["file"]).name
        what = each["place"]["line"], each["rule"], each["sentence"]
        found.setdefault(name, []).append(what)
    return found


@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda each: each.stem)
def test_each_fault_is_found_in_its_line(
    program: Path, findings: dict[str, list[tuple[int, str, str]]]
) -> None:
    """There and nowhere else; programs without a mark are right."""
    lines = enumerate(program.read_text("utf-8").splitlines(), start=1)
    marks = [(number, found) for number, line in lines if (found := MARK.search(line))]
    found = findings.get(program.name, [])
    assert [each[:2] for each in found] == [(number, mark["rule"]) for number, mark in marks]
    assert all(
        (mark["says"] or "") in each[2] for each, (_, mark) in zip(found, marks, strict=True)
    )
