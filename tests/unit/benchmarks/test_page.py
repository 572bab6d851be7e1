"""Pages of figures, and what they say of those that they replace."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.page import Page, commit_of, page_of


def page(path: Path, commit: str, since: str = "the clock") -> Page:
    return Page(path=path, head="# Title\n\nHow it is done.", since=since, commit=commit)


def test_a_page_says_what_changed_since_the_figures_before(tmp_path: Path) -> None:
    """Only the latest figures stay, and a run in parts keeps the line."""
    path = tmp_path / "new" / "page.md"
    page(path, "aaa1111").write(["1"])
    first = "# Title\n\nHow it is done.\n\n## Figures at commit aaa1111\n\n1\n"
    assert path.read_text() == first
    page(path, "bbb2222", "the clock").write(["2"])
    page(path, "ccc3333", "the space").write(["half"])
    page(path, "ccc3333", "").write(["3"])
    assert path.read_text().partition("ccc3333\n\n")[2] == (
        "Figures of bbb2222 stood here before. Changed since: the space\n\n3\n"
    )
    assert commit_of(path.read_text()) == "ccc3333"


def test_figures_are_not_replaced_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed is asked for before anything is measured."""
    path = tmp_path / "page.md"
    page(path, "aaa1111").write(["1"])
    monkeypatch.setattr("benchmarks.page.this_commit", lambda: "bbb2222")
    with pytest.raises(SystemExit, match="aaa1111"):
        page_of(Namespace(out=path, since=""), "# Title")
    assert page_of(Namespace(out=path, since="the clock"), "# Title").commit == "bbb2222"
    monkeypatch.setattr("benchmarks.page.this_commit", lambda: "aaa1111")
    assert page_of(Namespace(out=path, since=""), "# Title").path == path
