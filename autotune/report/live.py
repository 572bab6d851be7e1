"""The live view of a search in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.events import Event, Notice, Planned, TrialEnded
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.report.card import card
from autotune.report.progress import Progress
from autotune.report.tables import Line, Rendered, Stacked
from autotune.result.leaderboard import Entry, Leaderboard
from autotune.strategies import in_short
from autotune.trial import Trial
from autotune.wording import clock, one_line, plural, rate, rate_with_error, roughly, share

LINES = 9
"""Of recent trials, so that the view fits a terminal of 24 lines."""
LEAST = 30
"""Columns that a configuration needs beside its figures."""
STYLES = {Outcome.MEASURED: "green", Outcome.PRUNED: "magenta", Outcome.SKIPPED: "dim"}
"""Colours that can be read on a dark and on a light background; yellow cannot."""


def head(progress: Progress) -> RenderableType:
    """Return budget, phase and running trial, which change with the time."""
    return Group(_bar(progress), _phase(progress))


def board_tables(board: Leaderboard) -> RenderableType:
    """Return the best so far and the latest trials, which change when a trial ends."""
    parts: list[RenderableType] = []
    if board.baseline:
        parts += [Text(), _best(board)]
    if board.trials:
        parts += [Text(), Recent(board)]
    return Group(*parts)


def _bar(progress: Progress) -> Table:
    spent, total = progress.spent, progress.plan.budget_seconds if progress.plan else None
    bar = ProgressBar(total=total, completed=min(spent, total or 0), pulse=total is None)
    grid = Table.grid(padding=(0, 1), expand=True)
    ends = clock(spent), f"of {clock(total)}" if total else ""
    for text, wide in ((ends[0], False), ("", True), (ends[1], False)):
        grid.add_column(ratio=1 if wide else None, width=None if wide else len(text))
    grid.add_row(ends[0], bar, ends[1])
    return grid


def _phase(progress: Progress) -> Text:
    text = Text(progress.phase, style="bold", no_wrap=True, overflow="ellipsis")
    now = progress.running
    if now:
        running = f"Trial {now.number}, {roughly(progress.running_for)}: "
        text.append(f"\n{running}{in_short(now.configuration)}", style="not bold")
    return text


def _best(board: Leaderboard) -> Stacked:
    every = (False, "one device"), (True, "distributed")
    rows = [
        _figures(name, row, distributed=distributed)
        for distributed, name in every
        if (row := board.best(distributed=distributed))
    ]
    return Stacked(("|best so far", ">examples/s", ">vs one device"), "configuration", rows, LEAST)


def _figures(name: str, row: Entry, *, distributed: bool) -> Line:
    # The first column says already that it is one device.
    short = in_short(row.configuration)
    words = short if distributed else short.partition(", ")[2]
    return Line((name, rate_with_error(row.examples_per_second), share(row.speedup)), Text(words))


class Recent:
    """The latest trials, the oldest first: as many as there is room for.

    Args:
        board: What the trials say.
    """

    def __init__(self, board: Leaderboard) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table; how many trials fit depends on the width."""
        latest = self._board.trials[-LINES:]
        table = self._table(latest)
        while len(latest) > 1 and _height(table, console, options) > LINES + 1:
            latest = latest[1:]
            table = self._table(latest)
        yield table

    def _table(self, trials: Sequence[Trial]) -> Stacked:
        heads = (">trial", "|outcome", ">examples/s", ">vs one device")
        return Stacked(heads, "configuration", [self._row(trial) for trial in trials], LEAST)

    def _row(self, trial: Trial) -> Line:
        compared = self._board.speedup_of(trial)
        cells = (
            str(trial.number),
            Text(trial.outcome, style=STYLES.get(trial.outcome, "red"), no_wrap=True),
            rate(trial.examples_per_second) if trial.examples_per_second else "",
            "" if compared is None else f"{compared:.2f}",
        )
        return Line(cells, _what(trial))


def _height(what: RenderableType, console: Console, options: ConsoleOptions) -> int:
    return len(console.render_lines(what, options, pad=False))


def _what(trial: Trial) -> Text:
    """The configuration, and below it why there is no figure."""
    text = Text(in_short(trial.configuration))
    if trial.outcome not in (Outcome.MEASURED, Outcome.PRUNED):
        text.append(f"\n{one_line(reason_text(trial.reason))}", style="dim")
    return text


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
                self._say(f"Resuming after {plural(len(event.kept), 'trial')}.")
        elif isinstance(event, Notice):
            self._say(event.text)

    def _view(self) -> RenderableType:
        whole = Group(head(self._progress), self._tables)
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        return Constrain(whole, self._console.width - len("^C") - 1)

    def _say(self, text: str) -> None:
        self._said = True
        self._console.print(Text(one_line(text)))
