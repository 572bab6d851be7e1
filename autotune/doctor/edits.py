"""Edits that a rule proposes where the remedy is mechanical, and files with them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

Position = tuple[int, int]
"""Line, which begins with 1, and column in bytes, as the parser counts."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A piece of text within one line, and what to write instead."""

    start: Position
    old: str
    new: str


def renamed_attribute(node: ast.Attribute, name: str) -> Edit:
    """Return the edit that calls a member by another name."""
    return _before(node.end_lineno, node.end_col_offset, node.attr, name)


def without_attribute(node: ast.Attribute) -> Edit:
    """Return the edit that leaves a member out of a dotted name."""
    return _before(node.end_lineno, node.end_col_offset, f".{node.attr}", "")


def renamed_keyword(node: ast.keyword, name: str) -> Edit:
    """Return the edit that calls an argument by another name."""
    return Edit(start=(node.lineno, node.col_offset), old=node.arg or "", new=name)


def _before(line: int | None, column: int | None, old: str, new: str) -> Edit:
    """Return the edit of a text that ends at a place."""
    return Edit(start=(line or 0, (column or 0) - len(old.encode())), old=old, new=new)


def edited(content: str, edits: Iterable[Edit]) -> str:
    """Return a text with those edits that meet the text which they expect."""
    lines = io.StringIO(content, newline="").readlines()
    for edit in sorted(set(edits), key=lambda each: each.start, reverse=True):
        line, column = edit.start
        whole = lines[line - 1].encode()
        before, after = whole[:column], whole[column:]
        if after.startswith(edit.old.encode()):
            after = after.removeprefix(edit.old.encode())
            lines[line - 1] = (before + edit.new.encode() + after).decode()
    return "".join(lines)


def read_exactly(path: Path) -> tuple[str, str]:
    """Return the text of a Python file with its own ends of lines, and its encoding."""
    with path.open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    return path.read_bytes().decode(encoding), encoding


def difference(path: Path, edits: Iterable[Edit]) -> str:
    """Return what edits change in a file, as a unified diff."""
    content, _ = read_exactly(path)
    before, after = (
        content.splitlines(keepends=True),
        edited(content, edits).splitlines(keepends=True),
    )
    return "".join(unified_diff(before, after, fromfile=str(path), tofile=str(path)))


def edit_file(path: Path, edits: Iterable[Edit]) -> None:
    """Write a file anew with these edits, if what they make of it is Python."""
    content, encoding = read_exactly(path)
    after = edited(content, edits)
    ast.parse(after)
    path.write_bytes(after.encode(encoding))
