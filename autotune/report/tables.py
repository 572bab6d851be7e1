"""The look that all tables share."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table


def columns(*heads: str, expand: bool = False) -> Table:
    """Return a table without lines.

    Args:
        heads: Headings; one that begins with `>` is of a column of figures, which never folds.
        expand: Whether it takes the whole width.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), expand=expand, header_style="bold dim")
    for head in heads:
        if head.startswith(">"):
            table.add_column(head[1:], justify="right", no_wrap=True)
        else:
            table.add_column(head, overflow="fold")
    return table


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
