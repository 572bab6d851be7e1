"""The live view."""

from __future__ import annotations

import time
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.plan import Plan
from autotune.reason import Outcome, SmallerRanOut
from autotune.report import LiveReport
from autotune.report.live import LINES, REDRAWS_PER_SECOND, board_tables, head
from autotune.report.progress import Progress
from autotune.trial import Trial

MakeTrial = Callable[..., Trial]
Draw = Callable[..., str]


def terminal(width: int = 80) -> Console:
    """Return a terminal that can redraw, whatever the tests run in."""
    return Console(
        file=StringIO(),
        width=width,
        height=24,
        force_terminal=True,
        force_interactive=True,
        highlight=False,
        _environ={"TERM": "xterm"},
    )


def output(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def fail(report: LiveReport, error: type[BaseException]) -> None:
    with report:
        report(Preparing(what="Inspecting the machine"))
        raise error


@pytest.fixture
def progress(card_plan: Plan, trials: tuple[Trial, ...]) -> Progress:
    """A search in its finals, a minute and five seconds old."""
    progress = Progress(now=lambda: 0.0)
    progress.take(Planned(plan=card_plan))
    for trial in trials:
        progress.take(TrialEnded(trial=trial, elapsed=60.0))
    last = trials[-1]
    progress.take(
        TrialStarted(number=7, stage=last.stage, configuration=last.configuration, elapsed=65.0)
    )
    return progress


@pytest.mark.parametrize("width", [60, 80, 160])
def test_it_fits_the_terminal(progress: Progress, draw: Draw, width: int) -> None:
    """No line is wider than the terminal, and 24 lines are enough."""
    text = draw(head(progress), width) + draw(board_tables(progress.board), width)
    assert max(map(len, text.splitlines())) <= width
    assert len(text.splitlines()) <= 24


def test_it_shows_time_phase_and_running_trial(progress: Progress, draw: Draw) -> None:
    """The budget, what is done, and the trial that runs are in sight."""
    text = draw(head(progress))
    assert text.startswith("1:05 ")
    assert text.splitlines()[0].endswith(" of 3:00")
    assert "Finals" in text
    assert "Trial 7, 0 s: Mirrored x2, batch 2x64" in text


def test_it_shows_the_best_so_far_with_its_interval(progress: Progress, draw: Draw) -> None:
    """One device and the best distributed one are compared, with an interval."""
    text = draw(board_tables(progress.board), 160)
    assert "distributed" in text
    assert "1.42 (" in text
    assert " to " in text


def test_it_shows_outcome_and_reason_of_recent_trials(progress: Progress, draw: Draw) -> None:
    """A trial that failed says why."""
    text = draw(board_tables(progress.board))
    assert "crashed" in text
    assert "worker 1 was killed by SIGSEGV" in text


def test_only_recent_trials_are_shown(make_trial: MakeTrial, draw: Draw) -> None:
    """A long search does not make the view longer."""
    progress = Progress()
    skipped = {
        "outcome": Outcome.SKIPPED,
        "reason": SmallerRanOut(trial=0),
    }
    for number in range(50):
        progress.take(
            TrialEnded(trial=make_trial(number, **skipped if number % 2 else {}), elapsed=1.0)
        )
    shown = draw(board_tables(progress.board)).split("outcome", 1)[1]
    assert len(shown.splitlines()) - 1 <= LINES
    assert any(line.startswith("   49  skipped") for line in shown.splitlines())


def test_the_view_is_cleared_at_the_end(trials: tuple[Trial, ...]) -> None:
    """After a search the view makes room for the result, and the cursor is back."""
    console = terminal()
    with LiveReport(console) as report:
        report(Preparing(what="Inspecting the machine"))
        report(TrialEnded(trial=trials[0], elapsed=1.0))
    assert "\x1b[2K" in output(console)
    assert output(console).rindex("\x1b[?25h") > output(console).rindex("\x1b[?25l")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_leaves_the_view_and_the_cursor(error: type[BaseException]) -> None:
    """Ctrl-C and errors stop the redrawing, pass on, and leave the last state in sight."""
    console = terminal()
    report = LiveReport(console)
    with pytest.raises(error):
        fail(report, error)
    assert "Inspecting the machine" in output(console)
    assert "\x1b[?25h" in output(console)
    assert not report._live.is_started


def test_the_card_and_notices_stay_above_the_view(
    card_plan: Plan, trials: tuple[Trial, ...]
) -> None:
    """What must not be lost is printed for good."""
    console = terminal()
    with LiveReport(console) as report:
        report(Planned(plan=card_plan, kept=trials[:3]))
        report(Notice(text="A finalist [1] failed"))
    for text in ("per_replica_batch", "Resuming after 3 trials", "A finalist [1] failed"):
        assert text in output(console)


def test_many_events_make_few_redraws(trials: tuple[Trial, ...]) -> None:
    """Two a second at most: the processes that are timed have the cores to themselves."""
    console, began = terminal(), time.monotonic()
    with LiveReport(console) as report:
        for number in range(200):
            report(TrialEnded(trial=trials[0], elapsed=float(number)))
            time.sleep(0.005)
    drawn = output(console).count("best so far")
    # The first and the last come on top.
    assert 1 < drawn <= 2 + REDRAWS_PER_SECOND * (time.monotonic() - began)


def test_what_follows_stands_apart_from_the_notices(card_plan: Plan) -> None:
    """The verdict is not the next line of a warning."""
    console = terminal()
    with LiveReport(console) as report:
        report(Planned(plan=card_plan))
        report(Notice(text="The machine is busy"))
    assert output(console).rpartition("\x1b[2K")[2] == "\n"


def test_no_line_reaches_the_edge(trials: tuple[Trial, ...]) -> None:
    """The terminal's echo of Ctrl-C finds room behind the last line."""
    console = terminal()
    with LiveReport(console) as report:
        report(TrialEnded(trial=trials[0], elapsed=1.0))
        plain = Console(file=StringIO(), width=80)
        plain.print(report._view())
    assert max(len(line.rstrip("\n")) for line in output(plain).splitlines()) < 78
