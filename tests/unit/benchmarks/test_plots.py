"""The plots of the pages show the pages' own tables."""

from pathlib import Path

import pytest

from benchmarks.plots import FIGURES, PAGES, PLOTS, draw


@pytest.mark.parametrize("name", PLOTS)
def test_a_page_shows_its_plot(name: str, tmp_path: Path) -> None:
    """The page names it, it was drawn, and can be drawn from the page as it is."""
    page = PAGES / f"{name}.md"
    assert f"(../figures/{name}.svg)" in page.read_text("utf-8")
    assert (FIGURES / f"{name}.svg").is_file()
    drawn = draw(page, tmp_path)
    assert drawn
    assert drawn.read_text("utf-8").rstrip().endswith("</svg>")
