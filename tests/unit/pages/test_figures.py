"""The figures that the first page quotes are those that the benchmarks wrote down."""

from __future__ import annotations

import re

import pytest

from benchmarks.page import EARLIER, commit_of
from benchmarks.replay.score import SEEN
from documentation.pages import DOCS, ROOT

SCORED = "share of the best, as recorded, 12 % or 30 % of a pass"
QUOTED = {"median": r"reaches ([\d.]+) %", "lowest tenth": r"([\d.]+) % in the lowest tenth"}
"""A row of the score, and where the first page says the same."""


def scored(row: str) -> float:
    """What the score says was reached on the tables that the search was tuned on, in percent."""
    text = (DOCS / "benchmarks" / "replay.md").read_text("utf-8").partition(EARLIER)[0]
    rows = text.partition(SEEN)[2]
    found = re.search(
        rf"^\| {re.escape(f'{SCORED}: {row}')} \| [^|]+ \| ([\d.]+)%", rows, re.MULTILINE
    )
    assert found, row
    return float(found[1])


@pytest.mark.parametrize(("row", "pattern"), QUOTED.items())
def test_the_first_page_quotes_the_score(row: str, pattern: str) -> None:
    """To the digit."""
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    found = re.search(pattern, text)
    assert found, pattern
    assert float(found[1]) == scored(row)


@pytest.mark.parametrize("name", ["replay", "rivals", "peers"])
def test_figures_name_their_commit(name: str) -> None:
    """Seven digits, and nothing that was changed since."""
    text = (DOCS / "benchmarks" / f"{name}.md").read_text("utf-8")
    assert re.fullmatch(r"[0-9a-f]{7}", commit_of(text) or "")
