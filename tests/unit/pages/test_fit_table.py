"""What the page of scripts says of fit and the loop is held by the tests that it names."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "scripts.md"
ROW = re.compile(r"^\| .* \| (?:equal|differs).* \| `(test_\w+)` \|$", re.MULTILINE)


def test_every_row_of_the_table_names_a_test() -> None:
    """One that exists."""
    text = PAGE.read_text()
    table = text.partition("| what Keras's `fit` does |")[2].partition("\n\n")[0]
    named = ROW.findall(table)
    assert len(named) == len(table.splitlines()) - 2
    every = "\n".join(each.read_text() for each in TESTS.rglob("test_*.py"))
    assert [name for name in named if f"def {name}(" not in every] == []
