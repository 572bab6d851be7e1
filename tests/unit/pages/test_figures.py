"""Pages of figures say where these come from."""

from __future__ import annotations

import re

import pytest

from benchmarks.page import NOW, commit_of
from tools.docs.pages import DOCS


@pytest.mark.parametrize("name", ["delivered", "peers", "replay", "rivals"])
def test_figures_name_their_commit(name: str) -> None:
    """Seven digits, and nothing that was changed since."""
    text = (DOCS / "benchmarks" / f"{name}.md").read_text("utf-8")
    assert NOW not in text or re.fullmatch(r"[0-9a-f]{7}", commit_of(text) or "")


def test_pictures_are_small_and_ask_no_other_site() -> None:
    pictures = [*(DOCS / "figures").iterdir()]
    assert {"run.svg", "report.png", "regret.svg"} <= {each.name for each in pictures}
    for path in pictures:
        assert path.stat().st_size < (150_000 if path.suffix == ".png" else 60_000)
        if path.suffix == ".svg":
            assert not re.search(r"url\(.?http|<image|href=.http", path.read_text("utf-8"))
