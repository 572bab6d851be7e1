"""The look that all tables share."""

from __future__ import annotations

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
