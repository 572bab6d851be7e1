"""One line for each trial or run, for logs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

from autotune.events import Event, Notice, Planned, Preparing, TrialEnded
from autotune.reason.sentences import reason_text
from autotune.report.card import card
from autotune.report.progress import PHASES, Progress
from autotune.strategies import in_short
from autotune.trial import Stage, Trial
from autotune.wording import clock, one_line, plural, rate


class TurnsReport:
    """Follows runs that take turns and prints what happened.

    Args:
        console: Where to print.
    """

    headings = f"{'pair':>5}  {'outcome':<13}  {'examples/s':>10}  configuration"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
        self._headed = False
        self._preparing = ""

    def __call__(self, event: Event) -> None:
        """Print what an event tells."""
        self._progress.take(event)
        if isinstance(event, Preparing):
            # Some steps take turns with themselves, a run each; a log needs to hear of it once.
            if event.what != self._preparing:
                self._say(event.what)
            self._preparing = event.what
        elif isinstance(event, Notice):
            self._say(event.text)
        elif isinstance(event, TrialEnded):
            self._trial(event.trial)

    def _trial(self, trial: Trial) -> None:
        if not self._headed:
            self._headed = True
            self._head("Alternating runs in fresh processes")
        pair = (trial.round or 0) + 1
        self._print(f"{pair:>5}  {trial.outcome:<13}  {_rate(trial):>10}  {_what(trial)}")

    def _head(self, text: str) -> None:
        self._say(text)
        self._print(self.headings, timed=False)

    def _say(self, text: str) -> None:
        self._print(one_line(text))

    def _print(self, line: str, *, timed: bool = True) -> None:
        time = clock(self._progress.elapsed) if timed else ""
        # No wrapping: a log is as wide as its lines.
        self._console.print(Text(f"{time:>7}  {line}"), soft_wrap=True)


class PlainReport(TurnsReport):
    """Follows a search and prints what happened, never to change it.

    Args:
        console: Where to print.
    """

    headings = (
        f"{'trial':>5}  {'outcome':<13}  {'examples/s':>10}  {'vs one device':>13}  configuration"
    )

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._stage: Stage | None = None

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
        super().__call__(event)
        if isinstance(event, Planned):
            self._console.print(Text(), card(event.plan), Text(), sep="\n")
            if event.kept:
                self._say(f"Resuming after {plural(len(event.kept), 'trial')}")

    def _trial(self, trial: Trial) -> None:
        if trial.stage is not self._stage:
            self._stage = trial.stage
            self._head(PHASES[trial.stage])
        speedup = self._progress.board.speedup_of(trial)
        factor = "-" if speedup is None else f"{speedup:.2f}"
        figures = f"{trial.number:>5}  {trial.outcome:<13}  {_rate(trial):>10}  {factor:>13}"
        self._print(f"{figures}  {_what(trial)}")


def _rate(trial: Trial) -> str:
    return rate(trial.examples_per_second) if trial.examples_per_second else "-"


def _what(trial: Trial) -> str:
    """Return what has no fixed length, and so comes last."""
    why = "" if trial.measured else f" - {one_line(reason_text(trial.reason))}"
    return in_short(trial.configuration) + why
