"""One line for each trial, for logs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from autotune.events import Event, Notice, Planned, Preparing, TrialEnded
from autotune.report.card import card
from autotune.report.progress import PHASES, Progress
from autotune.report.words import clock, counted, in_short, one_line, rate
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
from autotune.trial import Stage, Trial


class PlainReport:
    """Follows a search and prints what happened, never to change it.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
        self._stage: Stage | None = None
        self._preparing = ""

    def __enter__(self) -> Self:
        """Begin; there is nothing to prepare."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Set what follows apart from the lines."""
        self._console.print()

    def __call__(self, event: Event) -> None:
        """Print what an event tells."""
        self._progress.take(event)
        if isinstance(event, Preparing):
            self._prepare(event.what)
        elif isinstance(event, Notice):
            self._say(event.text)
        elif isinstance(event, Planned):
            self._plan(event)
        elif isinstance(event, TrialEnded):
            self._trial(event.trial)

    def _prepare(self, what: str) -> None:
        # Some steps take turns with themselves, a run each; a log needs to hear of it once.
        if what != self._preparing:
            self._say(what)
        self._preparing = what

    def _plan(self, event: Planned) -> None:
        self._console.print(Text(), card(event.plan), Text(), sep="\n")
        if event.kept:
            self._say(f"Resuming after {counted(len(event.kept), 'trial')}")

    def _trial(self, trial: Trial) -> None:
        if trial.stage is not self._stage:
            self._stage = trial.stage
            self._say(PHASES[trial.stage])
            self._print(HEADINGS)
        self._print(f"{clock(self._progress.elapsed):>7}  {self._row(trial)}")

    def _row(self, trial: Trial) -> str:
        return row(trial, self._progress.board.speedup_of(trial))

    def _say(self, text: str) -> None:
        self._print(f"{clock(self._progress.elapsed):>7}  {one_line(text)}")

    def _print(self, line: str) -> None:
        # No wrapping: a log is as wide as its lines.
        self._console.print(Text(line), soft_wrap=True)


HEADINGS = (
    f"{'':>7}  {'trial':>5}  {'outcome':<13}  {'examples/s':>10}  {'speedup':>7}  configuration"
)


def row(trial: Trial, share: float | None) -> str:
    """Return a trial in a line; what has no fixed length comes last."""
    shown = rate(trial.examples_per_second) if trial.examples_per_second else "-"
    factor = "-" if share is None else f"{share:.2f}"
    line = f"{trial.number:>5}  {trial.outcome:<13}  {shown:>10}  {factor:>7}  "
    return line + in_short(trial.configuration) + _why(trial)


def _why(trial: Trial) -> str:
    return "" if trial.outcome is Outcome.MEASURED else f" - {one_line(reason_text(trial.reason))}"
