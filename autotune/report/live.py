"""The view that stands in the terminal while a search runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.report.card import card
from autotune.report.progress import Progress
from autotune.report.standing import Row, Standing
from autotune.report.tables import columns
from autotune.report.words import clock, counted, in_short, one_line, rate, rate_with_error, share
from autotune.run.engine import Outcome
from autotune.search.events import Event, Notice, Planned
from autotune.trial import Trial

REDRAWS_PER_SECOND = 2
"""Few, because the processes that are timed share the cores with this one."""
LINES = 9
"""Of recent trials, so that the view fits a terminal of 24 lines."""
STYLES = {Outcome.MEASURED: "green", Outcome.PRUNED: "yellow", Outcome.SKIPPED: "dim"}


class LiveReport:
    """Follows a search in a terminal: budget, phase, best so far, recent trials.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
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
        """Clear the view; after an error it stays, because it shows how far the search came."""
        self._live.transient = kind is None
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take in an event; the view follows at its next redraw."""
        self._progress.take(event)
        if isinstance(event, Planned):
            self._console.print(card(event.plan), Text(), sep="\n")
            if event.resumed_trials:
                self._say(f"Going on after {counted(event.resumed_trials, 'trial')}.")
        elif isinstance(event, Notice):
            self._say(event.text)

    def _view(self) -> RenderableType:
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        return Constrain(view(self._progress), self._console.width - len("^C") - 1)

    def _say(self, text: str) -> None:
        self._console.print(Text(one_line(text)))


def view(progress: Progress) -> RenderableType:
    """Return the whole view."""
    parts: list[RenderableType] = [_bar(progress), _phase(progress)]
    if progress.standing.rows(final=False):
        parts += [Text(), _best(progress.standing)]
    if progress.standing.trials:
        parts += [Text(), _recent(progress.standing)]
    return Group(*parts)


def _bar(progress: Progress) -> Table:
    elapsed, total = progress.elapsed, progress.plan.budget_seconds if progress.plan else None
    bar = ProgressBar(total=total, completed=min(elapsed, total or 0), pulse=total is None)
    grid = Table.grid(padding=(0, 1), expand=True)
    ends = clock(elapsed), clock(total) if total else ""
    for text, wide in ((ends[0], False), ("", True), (ends[1], False)):
        grid.add_column(ratio=1 if wide else None, width=None if wide else len(text))
    grid.add_row(ends[0], bar, ends[1])
    return grid


def _phase(progress: Progress) -> Text:
    text = Text(progress.phase, style="bold", no_wrap=True, overflow="ellipsis")
    now = progress.running
    if now:
        running = f"Trial {now.number} for {progress.running_for:.0f} s: "
        text.append(f"\n{running}{in_short(now.configuration)}", style="not bold")
    return text


def _best(standing: Standing) -> Table:
    table = columns("best so far", ">examples/s", ">vs one device", "configuration")
    for distributed, name in ((False, "one device"), (True, "distributed")):
        row = standing.best(distributed=distributed)
        if row:
            table.add_row(name, *_figures(row))
    return table


def _figures(row: Row) -> tuple[RenderableType, ...]:
    words = Text(in_short(row.configuration), no_wrap=True, overflow="ellipsis")
    return rate_with_error(row.rate), share(row.share), words


def _recent(standing: Standing) -> Table:
    table = columns(">trial", "configuration", ">examples/s", ">vs one", "outcome", expand=True)
    table.columns[1].ratio = 1
    for trial in _last(standing.trials):
        compared = standing.share_of(trial)
        table.add_row(
            str(trial.number),
            _what(trial),
            rate(trial.examples_per_second) if trial.examples_per_second else "",
            "" if compared is None else f"{compared:.2f}",
            Text(trial.outcome, style=STYLES.get(trial.outcome, "red"), no_wrap=True),
        )
    return table


def _what(trial: Trial) -> Text:
    """The configuration, and below it why there is no figure."""
    text = Text(in_short(trial.configuration), no_wrap=True, overflow="ellipsis")
    if _needs_reason(trial):
        text.append(f"\n{one_line(trial.reason)}", style="dim")
    return text


def _needs_reason(trial: Trial) -> bool:
    return trial.outcome not in (Outcome.MEASURED, Outcome.PRUNED)


def _last(trials: Sequence[Trial]) -> list[Trial]:
    """Return as many of the latest trials as there is room for, the oldest first."""
    room, chosen = LINES, []
    for trial in reversed(trials):
        room -= 2 if _needs_reason(trial) else 1
        if room < 0:
            break
        chosen.append(trial)
    return chosen[::-1]
