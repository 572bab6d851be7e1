"""The look of tables in a terminal, and a table that fits narrow ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

HEAD = "bold dim"
"""How headings look."""
NOTEBOOK_WIDTH = 110
"""Columns of what stands below a notebook's cell."""


def columns(*heads: str) -> Table:
    """Return a table without lines; a heading that begins with `>` is of figures, `|` of names.

    Neither of these columns folds.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=HEAD)
    for head in heads:
        figures, names = head.startswith(">"), head.startswith("|")
        table.add_column(
            head.lstrip(">|"),
            justify="right" if figures else "left",
            no_wrap=figures or names,
            overflow="ellipsis" if figures or names else "fold",
        )
    return table


def named(rows: Iterable[tuple[str, str]], indent: str = "") -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(indent + name, style="dim"), Text(value))
    return table


def marked(mark: str, text: Text) -> Table:
    """Return a text behind a mark, its further lines below the text and not below the mark."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(mark, text)
    return grid


@dataclass(frozen=True)
class Line:
    """One row: short cells, and a text that may be long."""

    cells: tuple[Text | str, ...]
    text: Text
    style: str = ""


@dataclass(frozen=True)
class Stacked:
    """Short columns and a text beside them, or below them where it would be squeezed."""

    heads: Sequence[str]
    """Of the short columns, as for `columns`; none of them may fold."""
    last: str
    """Heading of the text."""
    rows: Sequence[Line]
    least: int
    """Columns that the text needs to stand beside the others."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [tuple(head.lstrip(">|") for head in self.heads), *(r.cells for r in self.rows)]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        if options.max_width - sum(widths) - 2 * len(widths) >= self.least:
            yield self._beside()
            return
        yield self._cells(lines[0], widths, HEAD)
        for row in self.rows:
            yield self._cells(row.cells, widths, row.style)
            yield Padding(Text(style=row.style).append_text(row.text), (0, 0, 0, 2))

    def _beside(self) -> Table:
        table = columns(*self.heads, self.last)
        for row in self.rows:
            table.add_row(*row.cells, row.text, style=row.style)
        return table

    def _cells(self, cells: Sequence[Text | str], widths: Sequence[int], style: str) -> Text:
        line = Text(style=style, no_wrap=True, overflow="ellipsis")
        for head, cell, width in zip(self.heads, cells, widths, strict=True):
            space = " " * (width - len(cell))
            parts = (space, cell) if head.startswith(">") else (cell, space)
            line.append_text(Text.assemble(*parts, "  "))
        line.rstrip()
        return line


def as_html(what: RenderableType) -> str:
    """Return what a terminal would show as HTML, in which nothing of the text is markup."""
    console = Console(
        record=True, file=StringIO(), width=NOTEBOOK_WIDTH, force_jupyter=False, highlight=False
    )
    console.print(what)
    code = '<pre style="line-height:normal;white-space:pre-wrap">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=code)
