"""The figures that the pages quote are those that the benchmarks wrote down."""

from __future__ import annotations

import re

import pytest

from documentation.pages import DOCS, ROOT

SCORED = {
    "share of the best: median": "throughput of the recommended",
    "lowest tenth": "the same: 10th percentile",
    "lowest of all": "the same: lowest",
    "200 configurations and more": "cost, share of a pass",
    "fewer configurations": "the same, fewer configurations",
    "a true gain of 10 %": "a true gain of 10 %",
    "within 2 % of the best": "pruned although within 2 %",
    "of the gain hold": "95 % intervals of the gain",
    "of the throughput hold": "95 % intervals of the throughput",
}
"""A row of the table in `decides.md`, and the line of the score that it quotes."""


def scored(line: str) -> float:
    """What the score says was reached, in percent."""
    text = (DOCS / "benchmarks" / "replay.md").read_text("utf-8")
    goal, reached = r"(?:>=|<=)? ?[\d.-]+ ?%", r"(\d+\.\d)%"
    found = re.search(rf"^{re.escape(line)}.*?\s{goal}\s+{reached}", text, re.MULTILINE)
    assert found, line
    return float(found[1])


@pytest.mark.parametrize(("row", "line"), SCORED.items())
def test_the_error_rates_are_those_of_the_score(row: str, line: str) -> None:
    """Rounded as the page rounds."""
    text = (DOCS / "decides.md").read_text("utf-8")
    found = re.search(rf"{re.escape(row)}.*?\| ([\d.]+) % \|", text)
    assert found, row
    decimals = len(found[1].partition(".")[2])
    assert float(found[1]) == pytest.approx(scored(line), abs=0.5 * 10**-decimals + 1e-9)


def test_the_first_page_quotes_the_score() -> None:
    """Share, both costs, and the searches that could have erred."""
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    share = scored(SCORED["share of the best: median"])
    costs = [
        scored(SCORED[each]) for each in ("fewer configurations", "200 configurations and more")
    ]
    assert f"reaches {share:.1f} % of the best" in text
    assert f"for {costs[0]:.0f} % of the time" in text
    assert f"({costs[1]:.0f} % from 200 configurations up)" in text
