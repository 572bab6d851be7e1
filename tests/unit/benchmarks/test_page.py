"""Pages of figures, and what becomes of the figures that others replace."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.page import Page, commit_of, page_of


def page(path: Path, since: str = "the clock") -> Page:
    return Page(path=path, head="# Title\n\nHow it is done.", since=since)


def test_a_page_names_its_commit(tmp_path: Path) -> None:
    """Head, commit and figures, and nothing earlier on the first day."""
    path = tmp_path / "new" / "page.md"
    page(path).write(["| one |"], "aaa1111")
    assert path.read_text() == (
        "# Title\n\nHow it is done.\n\n## Figures at commit aaa1111\n\n| one |\n"
    )


def test_earlier_figures_are_kept_with_what_changed(tmp_path: Path) -> None:
    """The latest of them first, and their headings below those of now."""
    path = tmp_path / "page.md"
    page(path).write(["### Table", "1"], "aaa1111")
    page(path, "the clock").write(["2"], "bbb2222")
    page(path, "the space").write(["3"], "ccc3333")
    text = path.read_text()
    assert commit_of(text) == "ccc3333"
    latest, _, first = text.partition("## Earlier figures\n")[2].partition("### At commit aaa1111")
    assert latest.strip() == "### At commit bbb2222\n\nChanged since: the space\n\n2"
    assert first.strip() == "Changed since: the clock\n\n#### Table\n1"


def test_figures_of_the_same_commit_are_replaced(tmp_path: Path) -> None:
    """A run that goes on makes no earlier table of its first half."""
    path = tmp_path / "page.md"
    page(path).write(["half"], "aaa1111")
    page(path).write(["whole"], "aaa1111")
    assert "whole" in path.read_text()
    assert "half" not in path.read_text()


def test_figures_are_not_replaced_without_a_word(tmp_path: Path) -> None:
    """What changed is asked for before anything is measured."""
    path = tmp_path / "page.md"
    page(path).write(["1"], "aaa1111")
    with pytest.raises(SystemExit, match="aaa1111"):
        page_of(Namespace(out=path, since=""), "# Title", "bbb2222")
    assert page_of(Namespace(out=path, since="the clock"), "# Title", "bbb2222")
    assert page_of(Namespace(out=path, since=""), "# Title", "aaa1111")
    assert page_of(Namespace(out=None, since=""), "# Title", "bbb2222") is None
