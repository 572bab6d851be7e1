"""What stands below a notebook's cell: the view while a search runs, and then its result."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Event as Flag, Thread
from types import TracebackType
from typing import Any, Protocol, Self

from autotune.events import Event, Notice, TrialEnded
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.report.html.rendering import environment
from autotune.report.progress import Progress
from autotune.report.result import (
    best_rows,
    counts,
    outcome_of,
    reasons_beside_tables,
    row_in_short,
)
from autotune.report.verdict import FAILURES
from autotune.result import Result
from autotune.result.leaderboard import Leaderboard
from autotune.strategies import in_short
from autotune.trial import Trial
from autotune.wording import clock, one_line, rate, rate_with_error, roughly, share

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
        self._tables = _tables(Leaderboard(()))
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
            self._tables = _tables(self._progress.board)

    def _redraw(self) -> None:
        self._show()
        while not self._done.wait(SECONDS):
            self._show()
        self._show()

    def _show(self) -> None:
        live = {"progress": self._progress, "notices": self._notices[-NOTICES:], **self._tables}
        self._place.update(_html(result=None, clock=clock, roughly=roughly, **live))


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel; IPython in a terminal is none."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def result_html(result: Result) -> str:
    """Return verdict and table in sight, grounds and failures a click away."""
    rows = [
        (
            (
                outcome_of(row, result),
                rate_with_error(row.examples_per_second),
                share(row.speedup),
                row_in_short(row),
            ),
            row.configuration == result.config,
        )
        for kind in best_rows(result)
        for row in kind
    ]
    failed = [
        ((t.number, t.outcome, in_short(t.configuration), one_line(reason_text(t.reason))), False)
        for t in result.trials
        if t.outcome in FAILURES
    ]
    reasons = list(reasons_beside_tables(result))
    return _html(result=result, rows=rows, counts=counts(result), reasons=reasons, failed=failed)


def _tables(board: Leaderboard) -> dict[str, Any]:
    """Return the best so far and the latest trials."""
    best = [
        (
            (
                "distributed" if distributed else "one device",
                rate_with_error(row.examples_per_second),
                share(row.speedup),
                in_short(row.configuration),
            ),
            False,
        )
        for distributed in (False, True)
        if board.baseline and (row := board.best(distributed=distributed))
    ]
    recent = [(_cells(board, trial), False) for trial in board.trials[-LINES:]]
    return {"best": best, "recent": recent}


def _cells(board: Leaderboard, trial: Trial) -> tuple[object, ...]:
    compared = board.speedup_of(trial)
    told = trial.outcome in (Outcome.MEASURED, Outcome.PRUNED)
    why = "" if told else f": {one_line(reason_text(trial.reason))}"
    return (
        trial.number,
        trial.outcome,
        rate(trial.examples_per_second) if trial.examples_per_second else "",
        "" if compared is None else f"{compared:.2f}",
        in_short(trial.configuration) + why,
    )


def _html(**view: Any) -> str:
    return environment().get_template("cell.html").render(view)


class _Cell:
    """The output of the running cell."""

    def __init__(self) -> None:
        # Untyped, and there only where there is a notebook.
        self._shown: Any = import_module("IPython.display")
        self._handle = self._shown.display(self._shown.HTML(""), display_id=True)

    def update(self, html: str) -> None:
        """Replace what was shown."""
        self._handle.update(self._shown.HTML(html))
