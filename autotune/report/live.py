"""The view that stands in the terminal while a search runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.text import Text

from autotune.events import Event, Notice, Planned, TrialEnded
from autotune.report.card import card
from autotune.report.progress import Progress
from autotune.report.tables import Rendered
from autotune.report.view import board_tables, head
from autotune.report.words import counted, one_line

REDRAWS_PER_SECOND = 2
"""Few, because the processes that are timed share the cores with this one."""


class LiveReport:
    """Follows a search in a terminal: budget, phase, best so far, recent trials.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
        self._tables = Rendered(Group())
        self._said = False
        self._live = Live(
            console=console,
            get_renderable=self._view,
            refresh_per_second=REDRAWS_PER_SECOND,
            redirect_stdout=False,
            transient=True,
        )

    def __enter__(self) -> Self:
        """Show the view."""
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the view, and set what follows apart from the notices.

        After an error the view stays, because it shows how far the search came.
        """
        self._live.transient = kind is None
        self._live.stop()
        if self._said and kind is None:
            self._console.print()

    def __call__(self, event: Event) -> None:
        """Take in an event; the view follows at its next redraw."""
        self._progress.take(event)
        if isinstance(event, Planned | TrialEnded):
            self._tables = Rendered(board_tables(self._progress.board))
        if isinstance(event, Planned):
            self._console.print(card(event.plan), Text(), sep="\n")
            if event.kept:
                self._say(f"Resuming after {counted(len(event.kept), 'trial')}.")
        elif isinstance(event, Notice):
            self._say(event.text)

    def _view(self) -> RenderableType:
        whole = Group(head(self._progress), self._tables)
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        return Constrain(whole, self._console.width - len("^C") - 1)

    def _say(self, text: str) -> None:
        self._said = True
        self._console.print(Text(one_line(text)))
