"""Edits that a rule proposes where the remedy is mechanical, and files with them."""

import ast
import io
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """A piece of text within one line, and what to write instead."""

    start: tuple[int, int]
    """Line, which begins with 1, and column in bytes, as the parser counts."""
    old: str
    new: str


def at_end(node: ast.Attribute, old: str, new: str) -> Edit:
    """Return an edit of the text that a node ends in."""
    column = (node.end_col_offset or 0) - len(old.encode())
    return Edit((node.end_lineno or 0, column), old, new)


def edited(content: str, edits: Iterable[Edit]) -> str:
    lines = [line.encode() for line in io.StringIO(content, newline="")]
    for edit in sorted(set(edits), key=lambda each: each.start, reverse=True):
        line, column = edit.start
        old, new = edit.old.encode(), edit.new.encode()
        before, after = lines[line - 1][:column], lines[line - 1][column:]
        if after.startswith(old):
            lines[line - 1] = before + new + after.removeprefix(old)
    return b"".join(lines).decode()


def _read_exactly(path: Path) -> tuple[str, str]:
    """Return the text of a Python file with its own ends of lines, and its encoding."""
    with path.open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    return path.read_bytes().decode(encoding), encoding


def difference(path: Path, edits: Iterable[Edit]) -> str:
    content, _ = _read_exactly(path)
    before, after = (it.splitlines(keepends=True) for it in (content, edited(content, edits)))
    return "".join(unified_diff(before, after, str(path), str(path)))


def edit_file(path: Path, edits: Iterable[Edit]) -> None:
    """Write a file anew with these edits, if what they make of it is Python."""
    content, encoding = _read_exactly(path)
    after = edited(content, edits)
    ast.parse(after)
    path.write_bytes(after.encode(encoding))
