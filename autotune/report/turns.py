"""Runs outside a search, a line each, for terminals and logs alike."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from autotune.events import Event, Notice, Preparing, TrialEnded
from autotune.report.progress import Progress
from autotune.report.words import clock, in_short, one_line, rate
from autotune.sentences.reasons import reason_text
from autotune.trial import Trial

HEADINGS = f"{'':>7}  {'pair':>5}  {'outcome':<13}  {'examples/s':>10}  configuration"


class TurnsReport:
    """Follows runs that take turns and prints what happened.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress()
        self._headed = False

    def __call__(self, event: Event) -> None:
        """Print what an event tells."""
        self._progress.take(event)
        if isinstance(event, Preparing):
            self._say(event.what)
        elif isinstance(event, Notice):
            self._say(event.text)
        elif isinstance(event, TrialEnded):
            self._trial(event.trial)

    def _trial(self, trial: Trial) -> None:
        if not self._headed:
            self._headed = True
            self._say("Alternating runs in fresh processes")
            self._print(HEADINGS)
        self._print(f"{clock(self._progress.elapsed):>7}  {_row(trial)}")

    def _say(self, text: str) -> None:
        self._print(f"{clock(self._progress.elapsed):>7}  {one_line(text)}")

    def _print(self, line: str) -> None:
        # No wrapping: a log is as wide as its lines.
        self._console.print(Text(line), soft_wrap=True)


def _row(trial: Trial) -> str:
    shown = rate(trial.examples_per_second) if trial.examples_per_second else "-"
    why = "" if trial.measured else f" - {one_line(reason_text(trial.reason))}"
    pair = (trial.round or 0) + 1
    return f"{pair:>5}  {trial.outcome:<13}  {shown:>10}  {in_short(trial.configuration)}{why}"
