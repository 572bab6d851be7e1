"""The text of a program, with the way back from lines to places."""

from __future__ import annotations

import ast
import io
import symtable
import tokenize
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from autotune.doctor.report import Place, Trouble
from autotune.errors import CodeError

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Text:
    """Python text, and where each of its lines stands."""

    file: str
    content: str
    cells: tuple[tuple[int, int], ...] = ()
    """Of a notebook: the number of each code cell, and the line before its first one."""
    troubles: tuple[Trouble, ...] = ()
    """What of a notebook could not be read."""

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
        return next((each for each in reversed(self.cells) if each[1] < line), self.cells[0])


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
