"""A search while it runs: in a terminal, in a log, below a notebook's cell."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console

from autotune.config import Configuration
from autotune.events import Event, Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.plan import Plan
from autotune.reason import Message, Outcome
from autotune.result import following
from autotune.result.view import Progress
from autotune.trial import Stage
from tests.drawing import draw

from .conftest import TRIALS, Reader, make_trial

HOSTILE = "</td><script>alert('x')</script> & <b>"


@pytest.fixture
def events(plan: Plan) -> tuple[Event, ...]:
    last = TRIALS[-1]
    running = TrialStarted(
        number=7, stage=last.stage, configuration=last.configuration, elapsed=65.0
    )
    ended = (TrialEnded(trial=trial, elapsed=60.0) for trial in TRIALS)
    return (Planned(plan=plan), *ended, running)


def terminal() -> Console:
    """Return a terminal that can redraw, whatever the tests run in."""
    return Console(
        file=StringIO(),
        width=80,
        height=24,
        force_terminal=True,
        force_interactive=True,
        highlight=False,
        _environ={"TERM": "xterm"},
    )


def output(console: Console) -> str:
    return console.file.getvalue()


def test_the_view_shows_budget_phase_best_and_latest(events: tuple[Event, ...]) -> None:
    """With the interval of what is best, and why a trial failed; it fits a terminal."""
    progress = Progress(now=lambda: 0.0)
    for event in events:
        progress.take(event)
    for width, height in ((60, 30), (80, 24), (160, 24)):
        lines = draw(following.live_view(progress), width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= height
    text = draw(following.live_view(progress), 160)
    assert text.startswith("1:05 ")
    assert text.splitlines()[0].endswith(" of 3:00")
    for told in (
        "Measuring again",
        "Trial 7, 0 s: Mirrored x2, batch 2x64",
        "distributed",
        "1.44 (",
        "crashed",
        "worker 1 was killed by SIGSEGV",
    ):
        assert told in text


def test_only_the_latest_trials_are_shown_the_newest_first() -> None:
    """A long search does not make the view longer, and what finds no room is the oldest."""
    progress = Progress()
    skipped = {"outcome": Outcome.SKIPPED, "reason": Message(text="cannot win")}
    for number in range(50):
        trial = make_trial(number, **skipped if number % 2 else {})
        progress.take(TrialEnded(trial=trial, elapsed=1.0))
    shown = draw(following.live_view(progress), 160).split("outcome", 1)[1].splitlines()
    assert shown[1].startswith("   49  skipped")
    numbers = [line.split()[0] for line in shown if line.strip()]
    assert sum(each.isdecimal() for each in numbers) == following.LATEST


def test_the_view_is_cleared_and_what_must_not_be_lost_is_printed(plan: Plan) -> None:
    """The plan and notices stay, set apart from what follows; the cursor is back."""
    console = terminal()
    with following.LiveReport(console) as report:
        report(Planned(plan=plan, kept=TRIALS[:3]))
        report(Notice(text="A worker [1] failed"))
    text = output(console)
    for told in ("--dry-run lists them", "Resuming after 3 trials", "A worker [1] failed"):
        assert told in text
    assert text.rpartition("\x1b[2K")[2] == "\n"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_leaves_the_view_and_the_cursor(error: type[BaseException]) -> None:
    """Ctrl-C and errors stop the redrawing, pass on, and leave the last state in sight."""
    console = terminal()
    report = following.LiveReport(console)

    def fail() -> None:
        with report:
            report(Preparing(what="Inspecting the machine"))
            raise error

    with pytest.raises(error):
        fail()
    assert "Inspecting the machine" in output(console)
    assert "\x1b[?25h" in output(console)
    assert not report._live.is_started


def test_no_line_reaches_the_edge() -> None:
    """The terminal's echo of Ctrl-C finds room behind the last line."""
    report, plain = following.LiveReport(terminal()), Console(file=StringIO(), width=80)
    report(TrialEnded(trial=TRIALS[0], elapsed=1.0))
    plain.print(report._view())
    assert max(len(line.rstrip("\n")) for line in output(plain).splitlines()) < 78


def test_a_cell_shows_the_same_view_and_is_cleared(events: tuple[Event, ...]) -> None:
    """Nothing that others wrote is markup; the result takes its place."""
    shown: list[str] = []
    with following.NotebookReport(shown.append) as report:
        for event in events:
            report(event)
        report(Notice(text=HOSTILE))
    assert shown.pop() == ""
    html = shown.pop()
    assert not [*Reader(html).open[0].find("script")]
    for text in ("Measuring again", "1:05", "of 3:00", "Trial 7", "crashed", "SIGSEGV"):
        assert text in html


def test_many_events_make_few_redraws() -> None:
    """The processes that are timed have the cores to themselves."""
    console, shown, began = terminal(), list[str](), time.monotonic()
    with following.LiveReport(console) as live, following.NotebookReport(shown.append) as below:
        for _ in range(100):
            live(TrialEnded(trial=TRIALS[0], elapsed=1.0))
            below(TrialEnded(trial=TRIALS[0], elapsed=1.0))
            time.sleep(0.005)
    seconds = time.monotonic() - began
    # The first and the last come on top, and in a cell the empty one.
    assert 1 <= output(console).count("best so far") <= 2 + following.REDRAWS_PER_SECOND * seconds
    assert len(shown) <= 3 + following.REDRAWS_PER_SECOND * seconds


def lines(*events: Event) -> list[str]:
    text = StringIO()
    with following.PlainReport(Console(file=text, width=80, highlight=False)) as report:
        for event in events:
            report(event)
    return text.getvalue().splitlines()


def test_a_log_has_a_line_for_each_trial() -> None:
    """Aligned with the headings above it; each stage is announced once, a failure says why."""
    both = (*TRIALS, TRIALS[0], TRIALS[1])
    shown = lines(*(TrialEnded(trial=trial, elapsed=65.0) for trial in both))
    column = next(line for line in shown if "configuration" in line).index("configuration")
    rows = [line for line in shown if "batch" in line]
    assert len(rows) == len(both)
    assert all(row[column - 1] == " " != row[column] for row in rows)
    assert rows[0].split()[:5] == ["1:05", "0", "measured", "1,000", "1.00"]
    assert rows[2].endswith(" - worker 1 was killed by SIGSEGV")
    for words in ("Searching for the best settings", "a distributed", "Measuring again"):
        assert "\n".join(shown).count(words) == 1


def test_other_events_take_a_line_of_a_log() -> None:
    taken, other = Preparing(what="Taking a\nstep apart"), Preparing(what="Timing an exchange")
    shown = lines(taken, taken, other, taken, Notice(text="A worker fell"))
    once, again = "Taking a step apart", "Timing an exchange"
    assert [each.split("  ")[-1] for each in shown] == [once, again, once, "A worker fell", ""]


def test_a_resumed_search_counts_what_it_has(plan: Plan) -> None:
    """The trials of the study are counted, and later ones are compared with them."""
    kept = (make_trial(0, examples_per_second=2000.0),)
    shown = lines(Planned(plan=plan, kept=kept), TrialEnded(trial=make_trial(1), elapsed=1.0))
    assert any("Resuming after 1 trial" in line for line in shown)
    assert " 0.71 " in shown[-2]


def test_markup_in_a_reason_is_text() -> None:
    trial = make_trial(0, outcome=Outcome.FAILED, reason=Message(text="shape [32, 10] [/red]"))
    assert "shape [32, 10] [/red]" in "\n".join(lines(TrialEnded(trial=trial, elapsed=1.0)))


def started(elapsed: float) -> TrialStarted:
    alone = Configuration()
    return TrialStarted(number=0, stage=Stage.BASELINE, configuration=alone, elapsed=elapsed)


def test_the_clock_never_goes_back_after_a_wait() -> None:
    """What was waited for the machine counts; of the budget it takes nothing."""
    now = 0.0
    progress = Progress(now=lambda: now)
    progress.take(Notice(text="Another search is running on this machine."))
    now = 300.0
    progress.take(Preparing(what="Inspecting the machine"))
    now = 308.0
    progress.take(started(8.0))
    assert (progress.elapsed, progress.spent, progress.running_for) == (308.0, 8.0, 0.0)
    now = 310.0
    assert (progress.elapsed, progress.spent, progress.running_for) == (310.0, 10.0, 2.0)
    progress.take(started(9.0))  # Its time was taken before it came here.
    assert progress.elapsed == 310.0


def test_a_search_that_began_before_is_where_its_events_say() -> None:
    """As whoever follows a job sees that comes late."""
    progress = Progress(now=lambda: 0.0)
    progress.take(started(100.0))
    assert (progress.elapsed, progress.spent) == (100.0, 100.0)
