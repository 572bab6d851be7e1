"""The view that stands below a notebook's cell while a search runs."""

from __future__ import annotations

import sys
from html import escape
from importlib import import_module
from threading import Event as Flag, Thread
from types import TracebackType
from typing import Any, Protocol, Self

from autotune.events import Event, Notice, TrialEnded
from autotune.leaderboard import Leaderboard
from autotune.report.cell import block, table, tag
from autotune.report.progress import Progress
from autotune.report.words import clock, in_short, one_line, rate, rate_with_error, roughly, share
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
from autotune.trial import Trial

SECONDS = 1.0
"""Between two redraws: rare, because the processes that are timed share the cores with this one."""
LINES = 8
NOTICES = 3


class Place(Protocol):
    """Where HTML is shown, each time instead of what was there."""

    def update(self, html: str) -> None:
        """Show this from now on."""
        ...


class NotebookReport:
    """Follows a search below a cell: budget, phase, best so far, recent trials.

    Args:
        place: Where to show it; None takes the running cell.
    """

    def __init__(self, place: Place | None = None) -> None:
        self._place = place or _Cell()
        self._progress = Progress()
        self._notices: list[str] = []
        self._tables = ""
        self._done = Flag()
        self._thread = Thread(target=self._redraw, name="notebook", daemon=True)

    def __enter__(self) -> Self:
        """Show the view."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the view, which the result replaces; after an error it stays."""
        self._done.set()
        self._thread.join()
        if kind is None:
            self._place.update("")

    def __call__(self, event: Event) -> None:
        """Take in an event; the view follows at its next redraw."""
        self._progress.take(event)
        if isinstance(event, Notice):
            self._notices.append(one_line(event.text))
        elif isinstance(event, TrialEnded):
            self._tables = board_html(self._progress.board)

    def _redraw(self) -> None:
        self._show()
        while not self._done.wait(SECONDS):
            self._show()
        self._show()

    def _show(self) -> None:
        notices = "".join(tag("div", text, "dim") for text in self._notices[-NOTICES:])
        self._place.update(block(head_html(self._progress), self._tables, notices))


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel; IPython in a terminal is none."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def head_html(progress: Progress) -> str:
    """Return budget, phase and running trial."""
    total = progress.plan.budget_seconds if progress.plan else None
    elapsed = progress.elapsed
    whole = f" of {clock(total)}" if total else ""
    bar = f'<progress max="{total}" value="{min(elapsed, total):.0f}"></progress>' if total else ""
    now = progress.running
    running = (
        f"Trial {now.number}, {roughly(progress.running_for)}: {in_short(now.configuration)}"
        if now
        else ""
    )
    phase = f"<div><b>{escape(progress.phase)}</b> · {clock(elapsed)}{whole}</div>"
    return phase + bar + tag("div", running or "\N{NO-BREAK SPACE}")


def board_html(board: Leaderboard) -> str:
    """Return the best so far and the latest trials."""
    best = [
        (
            (
                name,
                rate_with_error(row.examples_per_second),
                share(row.speedup),
                in_short(row.configuration),
            ),
            "",
        )
        for distributed, name in ((False, "one device"), (True, "distributed"))
        if (row := board.best(distributed=distributed))
    ]
    heads = ("best so far", ">examples/s", ">speedup", "configuration")
    recent = [(_cells(board, trial), "") for trial in board.trials[-LINES:]]
    trials = (">trial", "outcome", ">examples/s", ">speedup", "configuration")
    return (table(heads, best) if board.baseline else "") + table(trials, recent)


def _cells(board: Leaderboard, trial: Trial) -> tuple[str, ...]:
    compared = board.speedup_of(trial)
    told = trial.outcome in (Outcome.MEASURED, Outcome.PRUNED)
    why = "" if told else f": {one_line(reason_text(trial.reason))}"
    return (
        str(trial.number),
        str(trial.outcome),
        rate(trial.examples_per_second) if trial.examples_per_second else "",
        "" if compared is None else f"{compared:.2f}",
        in_short(trial.configuration) + why,
    )


class _Cell:
    """The output of the running cell."""

    def __init__(self) -> None:
        # Untyped, and there only where there is a notebook.
        self._shown: Any = import_module("IPython.display")
        self._handle = self._shown.display(self._shown.HTML(""), display_id=True)

    def update(self, html: str) -> None:
        """Replace what was shown."""
        self._handle.update(self._shown.HTML(html))
