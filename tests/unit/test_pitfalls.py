"""The page of the mistakes names only what there is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tools.docs.doctor import pages

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pitfalls.md"
ROWS = re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
SHOWN = re.compile(r"^- \[`([^`]+)`\]\(([^)]+)\)$", re.MULTILINE)
RULE = re.compile(r"^- rule `([^`]+)`", re.MULTILINE)


@cache
def functions(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_mistake_has_its_row() -> None:
    assert [int(row.partition(".")[0]) for row in ROWS] == [*range(1, 26)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.partition(".")[0])
def test_a_row_names_tests_and_rules_that_there_are(row: str) -> None:
    """A line that neither pattern reads would not be looked at."""
    named = SHOWN.findall(row)
    assert any("::test_" in label for label, _ in named)
    for label, link in named:
        path, _, function = label.partition("::")
        assert (PAGE.parent / link).resolve() == ROOT / path
        assert (ROOT / path).is_file(), path
        assert not function or function in functions(ROOT / path), label
    (doctor,) = pages().values()
    rules = RULE.findall(row)
    assert [name for name in rules if f"\n### {name}\n" not in doctor] == []
    assert len(named) + len(rules) == len(re.findall("^- ", row, re.MULTILINE))
