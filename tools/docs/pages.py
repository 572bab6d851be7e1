"""Pages that are made from the code, and what is written by hand beside them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTES = Path(__file__).parent / "notes"
"""What a page holds at its end that does not follow from the code, by the page's name."""
WIDTH = 100
HEAD = "<!-- Made from {source} by `make docs`. -->\n"


def page(source: str, lines: Iterable[str], name: str) -> str:
    """Return a page of the file that declares what it says, and the notes of its name."""
    made = HEAD.format(source=f"`{source}`") + "\n".join(lines).rstrip() + "\n"
    notes = NOTES / name
    return f"{made}\n{notes.read_text('utf-8')}" if notes.is_file() else made


def write(pages: Mapping[str, str], place: Path = DOCS) -> None:
    """Write pages, and remove those of what is gone; several processes may do so at once."""
    for name, text in pages.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            draft = path.with_name(f".{path.name}.{os.getpid()}")
            draft.write_text(text, "utf-8")
            draft.replace(path)
    for folder in {Path(name).parent for name in pages} - {Path()}:
        for path in (place / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in pages:
                path.unlink(missing_ok=True)


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
    heads = list(head)
    lines = [heads, ["---"] * len(heads), *map(list, rows)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in each) + " |" for each in lines]


def code(language: str, text: str) -> list[str]:
    return [f"```{language}", *text.rstrip("\n").splitlines(), "```"]
