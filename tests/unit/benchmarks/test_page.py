"""Pages of figures, and what they say of those that they replace."""

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


def test_a_page_says_what_changed_since_the_figures_before(tmp_path: Path) -> None:
    """Only the latest figures stay, and a run in parts keeps the line."""
    path = tmp_path / "page.md"
    page(path).write(["1"], "aaa1111")
    page(path, "the clock").write(["2"], "bbb2222")
    page(path, "the space").write(["half"], "ccc3333")
    page(path, "").write(["3"], "ccc3333")
    assert path.read_text().partition("ccc3333\n\n")[2] == (
        "Figures of bbb2222 stood here before. Changed since: the space\n\n3\n"
    )
    assert commit_of(path.read_text()) == "ccc3333"


def test_figures_are_not_replaced_without_a_word(tmp_path: Path) -> None:
    """What changed is asked for before anything is measured."""
    path = tmp_path / "page.md"
    page(path).write(["1"], "aaa1111")
    with pytest.raises(SystemExit, match="aaa1111"):
        page_of(Namespace(out=path, since=""), "# Title", "bbb2222")
    assert page_of(Namespace(out=path, since="the clock"), "# Title", "bbb2222")
    assert page_of(Namespace(out=path, since=""), "# Title", "aaa1111")
    assert page_of(Namespace(out=None, since=""), "# Title", "bbb2222") is None
