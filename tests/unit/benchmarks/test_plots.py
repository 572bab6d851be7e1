"""The plots of the pages show the pages' own tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.page import Page
from benchmarks.plots import FIGURES, PAGES, PLOTS, draw, numbers, tables

LARGEST = 60_000
"""Bytes of a committed picture."""
LINKS = """
| link | hosts | predicted | measured |
| --- | ---: | ---: | ---: |
| unshaped | 2 | 1.9 | 1.8 (1.7 to 1.9) |
| 100mbit | 2 | 0.6 | 0.7 (0.6 to 0.8) |
"""


def test_a_table_is_read_by_its_headings() -> None:
    """The first of two columns without a heading is the one that names a row."""
    text = (
        "# A\n\n| | goal | |\n| --- | --- | --- |\n| rate | >= 9 % | reached |\n\nprose\n" + LINKS
    )
    first, second = tables(text)
    assert first == [{"": "rate", "goal": ">= 9 %"}]
    assert [row["hosts"] for row in second] == ["2", "2"]
    assert numbers("4,001 (3,738 to 4,282)") == [4001, 3738, 4282]
    assert numbers("91.7% (66.7% to 100.0%)") == [91.7, 66.7, 100.0]


@pytest.mark.parametrize("name", PLOTS)
def test_a_page_shows_its_plot(name: str, tmp_path: Path) -> None:
    """The page names it, it was drawn, and can be drawn from the page as it is."""
    page = PAGES / f"{name}.md"
    assert f"(../figures/{name}.svg)" in page.read_text("utf-8")
    assert (FIGURES / f"{name}.svg").stat().st_size < LARGEST
    drawn = draw(page, tmp_path)
    assert drawn
    assert drawn.read_text("utf-8").rstrip().endswith("</svg>")


def test_another_figure_makes_another_plot(tmp_path: Path) -> None:
    page, drawn = tmp_path / "links.md", []
    for value in ("1.8", "1.2"):
        page.write_text(LINKS.replace("1.8 (1.7", f"{value} (1.1"))
        path = draw(page, tmp_path / value)
        assert path
        drawn.append(path.read_text())
    assert drawn[0] != drawn[1]


def test_who_writes_a_page_draws_its_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both in one go, and nothing for a page without one."""
    written: list[Path] = []
    monkeypatch.setattr("benchmarks.page.draw", written.append)
    Page(path=tmp_path / "links.md", head="# Links", since="", commit="aaa1111").write([LINKS])
    assert written == [tmp_path / "links.md"]
    assert draw(tmp_path / "other.md", tmp_path) is None
