"""What the live view shows: the state of the running search, and what is known so far."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.report.progress import Progress
from autotune.report.standing import Row, Standing
from autotune.report.tables import columns
from autotune.report.words import clock, in_short, one_line, rate, rate_with_error, share
from autotune.run.engine import Outcome
from autotune.trial import Trial

LINES = 9
"""Of recent trials, so that the view fits a terminal of 24 lines."""
STYLES = {Outcome.MEASURED: "green", Outcome.PRUNED: "yellow", Outcome.SKIPPED: "dim"}


def head(progress: Progress) -> RenderableType:
    """Return budget, phase and running trial, which change with the time."""
    return Group(_bar(progress), _phase(progress))


def standing_tables(standing: Standing) -> RenderableType:
    """Return the best so far and the latest trials, which change when a trial ends."""
    parts: list[RenderableType] = []
    if standing.yardstick:
        parts += [Text(), _best(standing)]
    if standing.trials:
        parts += [Text(), _recent(standing)]
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
