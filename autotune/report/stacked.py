"""A table whose last column moves below the others where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from autotune.report.tables import columns, marked


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
