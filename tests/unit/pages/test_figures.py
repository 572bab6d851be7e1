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
