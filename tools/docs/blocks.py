"""The blocks of code in the pages, as Sybil reads them."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

from tools.docs.pages import DOCS, ROOT, write
from tools.docs.write import pages

write(pages())
_PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "reference")
PAGES = (ROOT / "README.md", ROOT / "examples" / "README.md", *_PAGES)
"""All but those of the reference, which hold no blocks."""
CHECKED = ("python", "console", "yaml", "toml", "json")
OUTPUT = ("text", "diff", "mermaid")
"""What something printed: nothing to run."""
_COMMENT = re.compile(r"<!-- (?P<kind>[a-z ]+): (?P<reason>\S.*) -->\s*$")
_WHOLE = re.compile(r"^<!-- all parsed only: (?P<reason>\S.*) -->$", re.MULTILINE)
_TENSORFLOW = {"keras", "tensorflow"}

Evaluate = Callable[[Example], None]


def document(path: Path, evaluators: dict[str, Evaluate]) -> Document:
    """Return a page whose examples are evaluated by the language of their block."""
    parsers = [CodeBlockParser(name, evaluate) for name, evaluate in evaluators.items()]
    return Sybil(parsers=parsers, path=str(path.parent)).parse(path)


def languages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and language of every block of a page; an indented block has none."""
    for token in MarkdownIt().parse(path.read_text("utf-8")):
        if token.type in ("fence", "code_block"):
            yield (token.map or [0])[0] + 1, token.info.strip()


def mark(example: Example, kind: str) -> str | None:
    """Return why a block is treated otherwise, as a comment before it of some kind says."""
    before = example.document.text[: example.start].rstrip().rpartition("\n")[2]
    found = _COMMENT.search(before)
    if found and found["kind"] == kind:
        return found["reason"]
    whole = _WHOLE.search(example.document.text) if kind == "parsed only" else None
    return whole["reason"] if whole else None


def programs(path: Path) -> list[str]:
    """Return the Python blocks of a page that are to be run."""
    found: list[str] = []

    def keep(example: Example) -> None:
        if mark(example, "parsed only") is None:
            found.append(str(example.parsed))

    for example in document(path, {"python": keep}).examples():
        example.evaluate()
    return found


def needs_tensorflow(path: Path) -> bool:
    """Return whether the Python of a page imports TensorFlow, so that it runs for itself."""
    nodes = [node for each in programs(path) for node in ast.walk(ast.parse(each))]
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return bool(_TENSORFLOW & plain)
