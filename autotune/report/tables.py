"""The look that all tables share, and a table that fits narrow terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

HEAD = "bold dim"
"""How headings look."""
HANG = 2
"""Columns by which the further lines of a text are set in."""


def columns(*heads: str, expand: bool = False) -> Table:
    """Return a table without lines.

    Args:
        heads: Headings; one that begins with `>` is of a column of figures, which never folds, one
            that begins with `|` of a column of names, which does not either.
        expand: Whether it takes the whole width.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), expand=expand, header_style=HEAD)
    for head in heads:
        if head.startswith(">"):
            table.add_column(head[1:], justify="right", no_wrap=True)
        elif head.startswith("|"):
            table.add_column(head[1:], no_wrap=True)
        else:
            table.add_column(head, overflow="fold")
    return table


def hanging(text: str, *, indent: int = 0, hang: int = HANG, style: str = "") -> Table:
    """Return a text whose further lines are set in.

    Args:
        text: What to show.
        indent: Columns before the first line.
        hang: Columns by which the further lines begin farther right.
        style: Of the text.
    """
    return marked(" " * indent, Text(text, style=style), hang=hang)


def marked(mark: str, text: Text, *, hang: int = 0) -> Table:
    """Return a text behind a mark, its further lines below the text and not below the mark."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(mark, _Hanging(text, hang) if hang else text)
    return grid


class _Hanging:
    """A text whose further lines begin farther right than the first."""

    def __init__(self, text: Text, hang: int) -> None:
        self._text = text
        self._hang = hang

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(options.max_width - self._hang, 1)
        for number, line in enumerate(self._text.wrap(console, room)):
            yield Text.assemble(" " * self._hang if number else "", line)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        found = Measurement.get(console, options, self._text)
        return Measurement(found.minimum + self._hang, found.maximum + self._hang)


class Rendered:
    """Something that is drawn once for each width, because drawing a table takes milliseconds.

    Args:
        renderable: Must not change.
    """

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable
        self._drawn: dict[int, list[list[Segment]]] = {}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        width = options.max_width
        if width not in self._drawn:
            self._drawn[width] = console.render_lines(self._renderable, options, pad=False)
        for line in self._drawn[width]:
            yield from line
            yield Segment.line()


@dataclass(frozen=True)
class Line:
    """One row: short cells, and a text that may be long."""

    cells: tuple[RenderableType, ...]
    text: Text
    style: str = ""


class Stacked:
    """Short columns and a text beside them, or below them where it would be squeezed.

    Args:
        heads: Of the short columns, as for `columns`; none of them may fold.
        last: Heading of the text.
        rows: Must not change.
        least: Columns that the text needs to stand beside the others.
    """

    def __init__(self, heads: Sequence[str], last: str, rows: Sequence[Line], least: int) -> None:
        self._heads = heads
        self._last = last
        self._rows = rows
        self._least = least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the rows."""
        narrow = self._narrow()
        needed = Measurement.get(console, options, narrow).maximum
        if options.max_width - needed >= self._least:
            yield self._wide()
            return
        lines = console.render_lines(narrow, options, pad=False)
        yield from _line(lines[0])
        for line, row in zip(lines[1:], self._rows, strict=True):
            yield from _line(line)
            yield marked("  ", Text(style=row.style).append_text(row.text))

    def _narrow(self) -> Table:
        table = columns(*self._heads)
        for row in self._rows:
            table.add_row(*row.cells, style=row.style)
        return table

    def _wide(self) -> Table:
        table = columns(*self._heads, self._last)
        for row in self._rows:
            table.add_row(*row.cells, row.text, style=row.style)
        return table


def _line(segments: list[Segment]) -> RenderResult:
    yield from segments
    yield Segment.line()
