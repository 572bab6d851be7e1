"""A search while it runs, from its events: in lines, with a bar below them in a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from autotune.events import Event, Notice, Observer, Planned, Preparing, TrialEnded, nobody
from autotune.face import for_face
from autotune.reason import Outcome
from autotune.result.terminal import plan_in_short
from autotune.result.view import PHASES, Progress, trial_row
from autotune.strategies import in_short
from autotune.text import clock, one_line, plural, roughly
from autotune.trial import Trial

REDRAWS_PER_SECOND = 1
"""Few, because the processes that are timed share the cores with this one."""
LOG_HEADS = ("trial", "outcome", "examples/s", "vs yours", "configuration")
LOG_COLUMNS = "{:>5}  {:<13}  {:>10}  {:>8}  {}"


class ProgressReport:
    """Follows a search in lines, with a bar of the budget if wanted."""

    def __init__(self, console: Console, *, bar: bool = False) -> None:
        self._console = console
        self._progress = Progress()
        self._headed: set[str] = set()
        self._preparing = ""
        self._bar: Live | None = None
        if bar:
            self._bar = Live(
                console=console,
                get_renderable=self._below,
                refresh_per_second=REDRAWS_PER_SECOND,
                redirect_stdout=False,
                transient=True,
            )

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the bar, and set what follows apart from the lines."""
        if self._bar:
            self._bar.stop()
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
            self._log(for_face(event.text))
        elif isinstance(event, TrialEnded):
            self._trial(event.trial)

    def _trial(self, trial: Trial) -> None:
        """Print a trial, and once what each stage is for; what has no fixed length comes last."""
        if trial.stage not in self._headed:
            self._headed.add(trial.stage)
            self._log(PHASES[trial.stage])
            self._print(LOG_COLUMNS.format(*LOG_HEADS), timed=False, row=True)
        row = trial_row(trial, self._progress.answer)
        # In a terminal a row ends at its edge, so what must not be lost stands below it.
        below = row.why if self._bar and trial.outcome is not Outcome.PRUNED else ""
        name = f"{row.name} - {row.why}" if row.why and not below else row.name
        figures = row.rate or "-", row.ratio or "-"
        self._print(LOG_COLUMNS.format(trial.number, trial.outcome, *figures, name), row=True)
        if below:
            self._print(f"       {below}", timed=False)

    def _log(self, text: str) -> None:
        self._print(one_line(text))

    def _print(self, line: str, *, timed: bool = True, row: bool = False) -> None:
        """Print a line, as wide as it is; in a terminal a row ends at the edge."""
        time = clock(self._progress.elapsed) if timed else ""
        text = Text(f"{time:>7}  {line}")
        if row and self._bar:
            self._console.print(text, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(text, soft_wrap=True)

    def _below(self) -> RenderableType:
        # The terminal echoes ^C behind the last line; were that full, all would move down by one.
        width = self._console.width - len("^C") - 1
        return Constrain(Group(_budget(self._progress), _phase(self._progress)), width)


def _budget(progress: Progress) -> Table:
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


def terminal_report(console: Console) -> ProgressReport:
    """Return what follows a search on stderr: with a bar where that is a terminal."""
    # Not `console.is_terminal`, which colours forced in a CI job make true.
    return ProgressReport(console, bar=sys.stderr.isatty() and not console.is_dumb_terminal)


@contextmanager
def follow(*, progress: bool) -> Iterator[Observer]:
    """Show a search that runs inside this block on stderr."""
    if not progress:
        yield nobody
        return
    # In a notebook Rich would set each line as a block of its own.
    console = Console(stderr=True, highlight=False, force_jupyter=False)
    with terminal_report(console) as report:
        yield report
