"""The text of a file, of a notebook as well, with the way back from lines to places."""

from __future__ import annotations

import ast
import io
import json
import re
import symtable
import tokenize
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from autotune.errors import CodeError
from autotune.lint.report import Place

NOTEBOOK = ".ipynb"
Result = TypeVar("Result")
_MAGIC = re.compile(r"^(\s*)(?:[%!?]|[\w., ]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")
_CELL_MAGIC = re.compile(r"^\s*%%(?!time|timeit|capture|prun)")


@dataclass(frozen=True, kw_only=True)
class Text:
    """Python text, and where each of its lines stands."""

    file: str
    content: str
    cells: tuple[int, ...] = ()
    """Of a notebook: the line before the first one of each code cell."""

    def parse(self) -> ast.Module:
        """Return its syntax tree.

        Raises:
            CodeError: It is no Python.
        """
        return self._guarded(_parsed)

    def check_syntax(self) -> None:
        """Do as `parse`, and faster, where the tree is not needed.

        Raises:
            CodeError: It is no Python.
        """
        self._guarded(_scanned)

    def _guarded(self, read: Callable[[str], Result]) -> Result:
        try:
            return read(self.content)
        except SyntaxError as exc:
            raise CodeError(
                f"{self.where(exc.lineno or 1)}:{exc.offset or 1}: {exc.msg}.",
                "Only files that this version of Python can parse are checked.",
            ) from exc
        except (ValueError, RecursionError, MemoryError) as exc:
            raise CodeError(f"{self.file} cannot be parsed: {exc}.") from exc

    def place(self, node: ast.AST) -> Place:
        """Return the place of a node."""
        line = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", None) or line
        lines = self.content.split("\n")
        column = _characters(lines, line, getattr(node, "col_offset", 0))
        end = _characters(lines, last, getattr(node, "end_col_offset", None) or 0)
        cell, before = self._cell(line)
        return Place(
            file=self.file,
            line=line - before,
            column=column + 1,
            end_line=last - before,
            end_column=end + 1,
            cell=cell,
        )

    def where(self, line: int) -> str:
        """Return file and line, in words that editors understand."""
        cell, before = self._cell(line)
        return f"{self.file}:{'' if cell is None else f'cell {cell}:'}{line - before}"

    def _cell(self, line: int) -> tuple[int | None, int]:
        if not self.cells:
            return None, 0
        index = max((i for i, before in enumerate(self.cells) if before < line), default=0)
        return index + 1, self.cells[index]


def read_text(path: Path) -> Text:
    """Return the text of a Python file or a notebook.

    Raises:
        CodeError: It cannot be read, or is no text.
    """
    try:
        if path.suffix == NOTEBOOK:
            return _notebook(path)
        with tokenize.open(path) as file:
            return Text(file=str(path), content=file.read())
    except OSError as exc:
        raise CodeError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except (SyntaxError, ValueError, LookupError) as exc:
        raise CodeError(f"{path} is not a readable text file: {exc}.") from exc


def _notebook(path: Path) -> Text:
    """Return the code cells of a notebook as one text."""
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise CodeError(f"{path} is not a notebook in nbformat 4.", "Save it again in Jupyter.")
    lines: list[str] = []
    cells: list[int] = []
    for cell in document["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cells.append(len(lines))
            lines += _without_magics(_source_of(cell))
    return Text(file=str(path), content="\n".join([*lines, ""]), cells=tuple(cells))


def _source_of(cell: dict[str, Any]) -> list[str]:
    source = cell.get("source", "")
    whole = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return whole.split("\n")


def _without_magics(lines: list[str]) -> list[str]:
    """Return the lines of a cell, with empty statements for what is not Python."""
    if _is_python("\n".join(lines)):
        return lines
    if _CELL_MAGIC.match(lines[0]):
        return ["" for _ in lines]
    return [f"{found[1]}pass" if (found := _MAGIC.match(each)) else each for each in lines]


def _is_python(text: str) -> bool:
    try:
        _parsed(text)
    except (SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _scanned(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        symtable.symtable(text, "<text>", "exec")


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of what the code escapes in its texts, say.
        return ast.parse(text)


def _characters(lines: Sequence[str], line: int, column: int) -> int:
    """Return how many characters stand before a column, which the parser counts in bytes."""
    text = lines[line - 1] if line <= len(lines) else ""
    if text.isascii():
        return column
    return len(text.encode()[:column].decode(errors="ignore"))


def comments(text: Text) -> list[tuple[int, str]]:
    """Return the comments of a text, each with its line."""
    reader = io.StringIO(text.content).readline
    try:
        return [
            (token.start[0], token.string)
            for token in tokenize.generate_tokens(reader)
            if token.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, SyntaxError):
        return []
