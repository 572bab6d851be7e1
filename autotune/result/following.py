"""A search while it runs, from its events: in a terminal, in a log, below a notebook's cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from io import StringIO
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.events import Event, Notice, Observer, Planned, Preparing, TrialEnded, nobody
from autotune.reason import Outcome
from autotune.result.leaderboard import Leaderboard
from autotune.result.terminal import Line, Stacked, as_html, plan_in_short
from autotune.result.view import PHASES, Progress, TrialRow, row_of, trial_row
from autotune.strategies import in_short
from autotune.text import clock, one_line, plural, roughly
from autotune.trial import Trial

LATEST = 8
"""Trials in sight, so that the view fits a terminal of 24 lines."""
NOTICES = 3
"""Notices in sight below a notebook's cell."""
LEAST = 30
"""Columns that a configuration needs beside its figures."""
REDRAWS_PER_SECOND = 1
"""Few, because the processes that are timed share the cores with this one."""
LOG_HEADS = ("trial", "outcome", "examples/s", "vs one device", "configuration")
LOG_COLUMNS = "{:>5}  {:<13}  {:>10}  {:>13}  {}"
STYLES = {Outcome.MEASURED: "green", Outcome.PRUNED: "magenta", Outcome.SKIPPED: "dim"}
"""Colours that can be read on a dark and on a light background; yellow cannot."""


def live_view(progress: Progress) -> RenderableType:
    """Return budget, phase and running trial, the best so far, and the latest trials."""
    leaderboard = progress.leaderboard
    best = (Text(), _best(leaderboard)) if leaderboard.baseline else ()
    latest = (Text(), _latest(leaderboard)) if leaderboard.trials else ()
    return Group(_bar(progress), _phase(progress), *best, *latest)


def _bar(progress: Progress) -> Table:
    spent, total = progress.spent, progress.plan.budget_seconds if progress.plan else None
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True)
    bar = ProgressBar(total=total, completed=min(spent, total or 0), pulse=total is None)
    grid.add_row(clock(spent), bar, f"of {clock(total)}" if total else "")
    return grid


def _phase(progress: Progress) -> Text:
    text = Text(progress.phase, style="bold", no_wrap=True, overflow="ellipsis")
    now = progress.running
    if now:
        running = f"Trial {now.number}, {roughly(progress.running_for)}: "
        text.append(f"\n{running}{in_short(now.configuration)}", style="not bold")
    return text


def _best(leaderboard: Leaderboard) -> Stacked:
    lines = []
    for kind, distributed in (("one device", False), ("distributed", True)):
        if best := leaderboard.best(distributed=distributed):
            row = row_of(best)
            # The first column says already that it is one device.
            name = row.name if distributed else row.name.partition(", ")[2]
            lines.append(Line((kind, row.rate, row.speedup), Text(name)))
    return Stacked(("|best so far", ">examples/s", ">vs one device"), lines, LEAST)


def _latest(leaderboard: Leaderboard) -> Stacked:
    """Return the latest trials, the newest first: what finds no room is the oldest."""
    heads = (">trial", "|outcome", ">examples/s", ">vs one device")
    latest = reversed(leaderboard.trials[-LATEST:])
    lines = [_trial_line(trial_row(each, leaderboard)) for each in latest]
    return Stacked(heads, lines, LEAST)


def _trial_line(row: TrialRow) -> Line:
    outcome, text = row.trial.outcome, Text(row.name)
    if row.why and outcome is not Outcome.PRUNED:
        text.append(f"\n{row.why}", style="dim")
    shown = Text(outcome, style=STYLES.get(outcome, "red"))
    return Line((str(row.trial.number), shown, row.rate, row.speedup), text)


class LiveReport:
    """Follows a search in a terminal: budget, phase, best so far, recent trials."""

    def __init__(self, console: Console, live: Callable[..., Live] = Live) -> None:
        self._console = console
        self._progress = Progress()
        self._said = False
        self._live = live(
            console=console,
            get_renderable=self._view,
            refresh_per_second=REDRAWS_PER_SECOND,
            redirect_stdout=False,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Clear the view, and set what follows apart from the notices.

        After an error the view stays, because it shows how far the search came.
        """
        self._live.transient = kind is None
        self._live.stop()
        if self._said and kind is None:
            self._console.print()

    def __call__(self, event: Event) -> None:
        self._progress.take(event)
        if isinstance(event, Planned):
            self._console.print(plan_in_short(event.plan), Text(), sep="\n")
            if event.kept:
                self._log(f"Resuming after {plural(len(event.kept), 'trial')}.")
        elif isinstance(event, Notice):
            self._log(event.text)

    def _view(self) -> RenderableType:
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        return Constrain(live_view(self._progress), self._console.width - len("^C") - 1)

    def _log(self, text: str) -> None:
        self._said = True
        self._console.print(Text(one_line(text)))


class NotebookReport(LiveReport):
    """Follows a search below a notebook's cell: the same view as HTML, with the latest notices."""

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self._notices: list[str] = []
        # Shows HTML instead of what it showed before.
        self._show = show or _running_cell()
        nowhere = Console(file=StringIO(), force_jupyter=False)
        super().__init__(nowhere, partial(_Cell, self._show))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Clear the view, which the result replaces; after an error it stays."""
        super().__exit__(kind, *rest)
        if kind is None:
            self._show("")

    def _view(self) -> RenderableType:
        notices = (Text(each, style="dim") for each in self._notices[-NOTICES:])
        return Group(live_view(self._progress), *notices)

    def _log(self, text: str) -> None:
        self._notices.append(one_line(text))


class _Cell(Live):
    """Redraws HTML as `Live` does the lines of a terminal."""

    def __init__(self, show: Callable[[str], None], **options: Any) -> None:
        super().__init__(**options)
        self._show = show

    def refresh(self) -> None:
        self._show(as_html(self.get_renderable()))


def _running_cell() -> Callable[[str], None]:
    """Return what replaces the output of the running cell."""
    # Untyped, and there only where there is a notebook.
    shown: Any = import_module("IPython.display")
    handle = shown.display(shown.HTML(""), display_id=True)
    return lambda html: handle.update(shown.HTML(html))


class PlainReport:
    """Follows a search, or runs that take turns, in lines for a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
        self._headed: set[str] = set()
        self._preparing = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Set what follows apart from the lines."""
        self._console.print()

    def __call__(self, event: Event) -> None:
        self._progress.take(event)
        if isinstance(event, Planned):
            self._console.print(Text(), plan_in_short(event.plan), Text(), sep="\n")
            if event.kept:
                self._log(f"Resuming after {plural(len(event.kept), 'trial')}")
        elif isinstance(event, Preparing):
            # Some steps take turns with themselves, a run each; a log needs to hear of it once.
            if event.what != self._preparing:
                self._log(event.what)
            self._preparing = event.what
        elif isinstance(event, Notice):
            self._log(event.text)
        elif isinstance(event, TrialEnded):
            self._trial(event.trial)

    def _trial(self, trial: Trial) -> None:
        """Print a trial, and once what each stage is for; what has no fixed length comes last."""
        if trial.stage not in self._headed:
            self._headed.add(trial.stage)
            self._log(PHASES[trial.stage])
            self._print(LOG_COLUMNS.format(*LOG_HEADS), timed=False)
        row = trial_row(trial, self._progress.leaderboard)
        name = f"{row.name} - {row.why}" if row.why else row.name
        figures = row.rate or "-", row.speedup or "-"
        self._print(LOG_COLUMNS.format(trial.number, trial.outcome, *figures, name))

    def _log(self, text: str) -> None:
        self._print(one_line(text))

    def _print(self, line: str, *, timed: bool = True) -> None:
        time = clock(self._progress.elapsed) if timed else ""
        # No wrapping: a log is as wide as its lines.
        self._console.print(Text(f"{time:>7}  {line}"), soft_wrap=True)


def terminal_report(console: Console) -> LiveReport | PlainReport:
    """Return the live view where stderr is a terminal, and lines elsewhere."""
    # Not `console.is_terminal`, which colours forced in a CI job make true.
    live = sys.stderr.isatty() and not console.is_dumb_terminal
    return LiveReport(console) if live else PlainReport(console)


@contextmanager
def follow(*, progress: bool) -> Iterator[Observer]:
    """Show a search that runs inside this block: below a notebook's cell, or on stderr."""
    if not progress:
        yield nobody
    elif in_notebook():
        with NotebookReport() as cell:
            yield cell
    else:
        with terminal_report(Console(stderr=True, highlight=False)) as report:
            yield report


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel; IPython in a terminal is none."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None
