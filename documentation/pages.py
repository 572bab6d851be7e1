"""Pages of which one part is written from the code, and the rest by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WIDTH = 100
HEAD = "<!-- Written from {source} by `make docs`: change that, not this. -->\n"
MARK = "<!-- What follows is written by hand. -->\n"


def page(source: str, lines: Iterable[str]) -> str:
    """Return the written part of a page.

    Args:
        source: The file that declares what the page says.
        lines: Of the page, without line ends.
    """
    return HEAD.format(source=f"`{source}`") + "\n".join(lines).rstrip() + "\n"


def joined(written: str, before: str) -> str:
    """Return a page with its new written part, and what stood in it by hand.

    Args:
        written: The new part.
        before: The whole page as it was; may be empty.
    """
    _, mark, by_hand = before.partition(MARK)
    return f"{written}\n{mark}{by_hand}" if by_hand.strip() else written


def write(pages: Mapping[str, str]) -> None:
    """Write pages, and remove those of what is gone.

    Args:
        pages: The written part of each, by its name under `docs/`.
    """
    for name, written in pages.items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(joined(written, read(name)), "utf-8")
    for folder in {Path(name).parent for name in pages} - {Path()}:
        for path in (DOCS / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in pages:
                path.unlink()


def read(name: str) -> str:
    """Return a page as it is; nothing if there is none yet."""
    path = DOCS / name
    return path.read_text("utf-8") if path.is_file() else ""


def wrapped(text: str, *, first: str = "", rest: str = "") -> str:
    """Return a paragraph, or an item of a list, in lines that are not too long."""
    return fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table."""
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in each) + " |" for each in lines]


def code(language: str, text: str) -> list[str]:
    """Return the lines of a block."""
    return [f"```{language}", *text.rstrip("\n").splitlines(), "```"]
