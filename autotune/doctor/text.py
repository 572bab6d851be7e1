"""The text of a program, with the way back from lines to places."""

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass

from autotune.doctor.report import Place, Trouble
from autotune.errors import CodeError


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
        """Return its syntax tree, or raise CodeError where it is no Python."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Of what the code escapes in its texts, say.
                return ast.parse(self.content)
        except SyntaxError as exc:
            raise CodeError(
                f"{self.where(exc.lineno or 1)}:{exc.offset or 1}: {exc.msg}.",
                "Only files that this version of Python can parse are checked.",
            ) from exc
        except (ValueError, RecursionError, MemoryError) as exc:
            raise CodeError(f"{self.file} cannot be parsed: {exc}.") from exc

    def place(self, node: ast.AST) -> Place:
        line = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", None) or line
        column = self._characters(line, getattr(node, "col_offset", 0))
        end = self._characters(last, getattr(node, "end_col_offset", None) or 0)
        cell, before = self._cell(line)
        return Place(self.file, line - before, column + 1, last - before, end + 1, cell)

    def where(self, line: int) -> str:
        """Return file and line, in words that editors understand."""
        cell, before = self._cell(line)
        return f"{self.file}:{'' if cell is None else f'cell {cell}:'}{line - before}"

    def comments(self) -> list[tuple[int, str]]:
        """Return the comments that may be for linters, each with its line."""
        content = self.content.lower()
        if "autotune:" not in content and "noqa" not in content:
            return []
        try:
            tokens = [*tokenize.generate_tokens(io.StringIO(self.content).readline)]
        except (tokenize.TokenError, SyntaxError):
            return []
        return [(each.start[0], each.string) for each in tokens if each.type == tokenize.COMMENT]

    def _cell(self, line: int) -> tuple[int | None, int]:
        if not self.cells:
            return None, 0
        return next((each for each in reversed(self.cells) if each[1] < line), self.cells[0])

    def _characters(self, line: int, column: int) -> int:
        """Return how many characters stand before a column, which the parser counts in bytes."""
        lines = self.content.split("\n")
        text = lines[line - 1] if line <= len(lines) else ""
        return len(text.encode()[:column].decode(errors="ignore"))
