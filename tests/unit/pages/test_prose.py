"""Sentences in the README and in the pages that people read are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from tools.docs.pages import DOCS, ROOT
from tools.docs.write import pages

MEAN = 20
"""Words to a sentence, at most, on average over a page."""
MADE = {DOCS / name for name in pages()}
PAGES = sorted({ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "service").glob("*.md")} - MADE)
"""That people write."""
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"^ *(?:\||#|!\[|<!--).*$|<!--.*?-->", re.MULTILINE)
"""Tables, headings, pictures and comments; a term of a table is no sentence."""
LINKED = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`\n]+`")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ", re.MULTILINE)
END = re.compile(r"(?<=[.?!])[\"*)]*\s+(?=[\"*(]*[A-Z0-9`])|\n\n+")
SHORTEST = 3
"""Words of what counts as a sentence: fewer are a name or a label."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page; each item of a list begins one, a piece of code is a word."""
    text = NO_PROSE.sub("", FENCED.sub("", text))
    text = ITEM.sub("\n\n", CODE.sub("Code", LINKED.sub(r"\1", text)))
    for each in END.split(text):
        if len(each.split()) >= SHORTEST:
            yield " ".join(each.split())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_sentences_of_a_page_are_short(path: Path) -> None:
    lengths = [len(each.split()) for each in sentences(path.read_text("utf-8"))]
    assert not lengths or fmean(lengths) <= MEAN
