"""Who follows a search: a notebook's cell, a terminal, a log, or nobody."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from autotune.events import Event, Observer, nobody
from autotune.report.lines import PlainReport
from autotune.report.live import LiveReport
from autotune.report.notebook import NotebookReport, in_notebook


def terminal_report(console: Console) -> LiveReport | PlainReport:
    """Return the live view where stderr is a terminal, and lines elsewhere."""
    # Not `console.is_terminal`, which colours forced in a CI job make true.
    live = sys.stderr.isatty() and not console.is_dumb_terminal
    return LiveReport(console) if live else PlainReport(console)


@contextmanager
def follow(*, progress: bool | None) -> Iterator[Observer]:
    """Show a search that runs inside this block.

    Args:
        progress: Whether to; None does so in a notebook and in a terminal.
    """
    if progress is False or (progress is None and not in_notebook() and not sys.stderr.isatty()):
        yield nobody
    elif in_notebook():
        with NotebookReport() as cell:
            yield cell
    else:
        with terminal_report(Console(stderr=True, highlight=False)) as report:
            yield report


def all_of(*observers: Observer) -> Observer:
    """Return an observer that tells several."""

    def tell(event: Event) -> None:
        for each in observers:
            each(event)

    return tell
