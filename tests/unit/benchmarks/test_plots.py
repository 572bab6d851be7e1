"""The plots of the pages show the pages' own tables."""

from pathlib import Path

import pytest

from benchmarks.plots import FIGURES, PAGES, PLOTS, draw, numbers, tables

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
    assert (FIGURES / f"{name}.svg").is_file()
    drawn = draw(page, tmp_path)
    assert drawn
    assert drawn.read_text("utf-8").rstrip().endswith("</svg>")
