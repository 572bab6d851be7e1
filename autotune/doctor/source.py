"""Files as programs, with the places and the edits in them.

A notebook holds one program, and one more for each file that it writes.
"""

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from autotune.errors import CodeError
from autotune.library.keras_notebook import python_of_cell

NOTEBOOK = ".ipynb"
_COMMAND = re.compile(
    r"^(\s*)(?:[\w., ]+=\s*[%!]|(?:pip3?|conda|cd|ls|cat|mkdir|rm|cp|mv)\s+[^\s=(])(?:.*\\\n)*.*",
    re.MULTILINE,
)
"""Commands of Jupyter that begin like Python, with the lines by which they go on."""
_WRITES = re.compile(r"\s*%%writefile\s.*\.py\s*\n")


@dataclass(frozen=True)
class Place:
    """A stretch of a file; lines and columns begin with 1 and count characters."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None
    """In a notebook: which of its code cells, whose lines are then meant."""

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}:{self.column}"


@dataclass(frozen=True)
class Trouble:
    """A file that could not be read, or a comment that names no rule."""

    text: str
    """The trouble and its place, in a sentence or two."""
    unread: bool
    """Whether the file as a whole could not be checked."""

    @property
    def level(self) -> str:
        return "error" if self.unread else "warning"


@dataclass(frozen=True)
class Edit:
    """A piece of text within one line, and its replacement."""

    start: tuple[int, int]
    """Line, which begins with 1, and column in bytes, as the parser counts."""
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Text:
    """Python text, and where each of its lines stands."""

    file: str
    content: str
    cells: tuple[tuple[int, int], ...] = ()
    """Of a notebook: the number of each code cell, and the line before its first one."""
    troubles: tuple[Trouble, ...] = ()
    """The cells of a notebook that could not be read."""

    def parse(self) -> ast.Module:
        """Return the syntax tree, or raise CodeError if the text is no Python."""
        try:
            with warnings.catch_warnings(action="ignore"):  # Of what the code escapes in its texts.
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
        """Return file and line as editors read them."""
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


def read_texts(path: Path) -> list[Text]:
    """Return the programs of a file, or raise CodeError."""
    try:
        if path.suffix == NOTEBOOK:
            with warnings.catch_warnings(action="ignore"):  # Of what cells escape in their texts.
                return [*_notebook(path)]
        with tokenize.open(path) as file:
            return [Text(file=str(path), content=file.read())]
    except OSError as exc:
        raise CodeError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as exc:
        raise CodeError(f"{path} is not a readable text file: {exc}.") from exc


def _notebook(path: Path) -> Iterator[Text]:
    """Yield the code cells of a notebook as one text, and those that write a program by themselves.

    A cell that is no Python is reported and left out; the others are checked without it.
    """
    content, cells, troubles = "", [], []
    for number, cell in enumerate(_code_cells(path), start=1):
        if written := _WRITES.match(cell):
            program = f"\n{cell[written.end() :]}\n"
            yield Text(file=str(path), content=program, cells=((number, 0),))
            continue
        python = python_of_cell(cell)
        if _mistake(path, number, python):
            # A statement of as many lines stands for a command.
            python = python_of_cell(
                _COMMAND.sub(lambda it: f"{it[1]}pass" + "\n" * it[0].count("\n"), cell)
            )
        if mistake := _mistake(path, number, python):
            troubles.append(Trouble(f"{mistake.cause} The cell was left out.", unread=True))
        cells.append((number, content.count("\n")))
        content += "\n" * python.count("\n") if mistake else python
        content += "\n"
    yield Text(file=str(path), content=content, cells=tuple(cells), troubles=tuple(troubles))


def _code_cells(path: Path) -> Iterator[str]:
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise CodeError(f"{path} is not a notebook in nbformat 4.", "Save it again in Jupyter.")
    for cell in document["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield "".join(map(str, source if isinstance(source, list) else [source]))


def _mistake(path: Path, number: int, python: str) -> CodeError | None:
    try:
        Text(file=str(path), content=python, cells=((number, 0),)).parse()
    except CodeError as exc:
        return exc
    return None


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
    """Write a file anew with these edits, if the result is Python."""
    content, encoding = _read_exactly(path)
    after = edited(content, edits)
    ast.parse(after)
    path.write_bytes(after.encode(encoding))
