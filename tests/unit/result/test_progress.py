"""A search while it runs: in a terminal and in a log."""

import time
from io import StringIO

import pytest
from rich.console import Console

from autotune.config import Configuration
from autotune.events import Event, Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.plan import Plan
from autotune.reason import Message, Outcome
from autotune.result import terminal as progress
from autotune.trial import Stage, Trial
from tests.answers import answer_of
from tests.drawing import draw

from .conftest import ALONE, PAIR, TRIALS, make_trial


@pytest.fixture
def events(plan: Plan) -> tuple[Event, ...]:
    last = TRIALS[-1]
    running = TrialStarted(
        number=7, stage=last.stage, configuration=last.configuration, elapsed=65.0
    )
    ended = (ended_by(trial, elapsed=60.0) for trial in TRIALS)
    return (Planned(plan=plan), *ended, running)


def ended_by(trial: Trial, elapsed: float) -> TrialEnded:
    """Return the end of a trial, with what all of them say."""
    answer = answer_of(TRIALS, PAIR, ALONE)
    return TrialEnded(trial=trial, elapsed=elapsed, answer=answer)


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


def test_a_bar_stands_below_the_lines(events: tuple[Event, ...]) -> None:
    """It shows budget, phase and running trial, and no line of it reaches the edge.

    The terminal's echo of Ctrl-C finds room behind the last one.
    """
    report = progress.ProgressReport(terminal(), bar=True)
    for event in events:
        report(event)
    for width in (60, 80):
        report._console.width = width
        shown = draw(report._below(), width).splitlines()
        assert len(shown) == 3
        assert max(len(line.rstrip()) for line in shown) < width - 2
    assert shown[0].startswith("1:05 ")
    assert shown[1].startswith("Measuring again")
    assert shown[2].startswith("Trial 7, 0 s: Mirrored x2, batch 2x64")


def test_what_is_printed_above_the_bar_stays(plan: Plan) -> None:
    """A row is one line of the terminal, and why it failed another; the cursor is back."""
    console = terminal()
    with progress.ProgressReport(console, bar=True) as report:
        report(Planned(plan=plan, kept=TRIALS[:3]))
        report(Notice(text="A worker [1] failed"))
        report(TrialEnded(trial=TRIALS[2], elapsed=1.0))
    text = output(console)
    for told in (
        f"{plan.configurations} configurations. ",
        "Resuming after 3 trials",
        "A worker [1] failed",
    ):
        assert told in text
    shown = text[text.index("crashed") :]
    assert "SIGSEGV" not in shown.splitlines()[0]
    assert "worker 1 was killed by SIGSEGV" in shown
    assert text.rpartition("\x1b[2K")[2] == "\n"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_notice_is_wrapped_between_words_below_itself() -> None:
    console = terminal()
    with progress.ProgressReport(console, bar=True) as report:
        report(Notice(text="Other programs use much of the cores. " * 4))
    told = [line.rstrip() for line in output(console).splitlines() if "cores" in line]
    assert len(told) > 1
    assert all(line.startswith(" " * 9) for line in told[1:])
    assert all(word in "Other programs use much of the cores." for word in told[1].split())


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_leaves_the_lines_and_the_cursor(error: type[BaseException]) -> None:
    """Ctrl-C and errors stop the redrawing and pass on."""
    console = terminal()
    report = progress.ProgressReport(console, bar=True)

    def fail() -> None:
        with report:
            report(Preparing(what="Inspecting the machine"))
            raise error

    with pytest.raises(error):
        fail()
    assert "Inspecting the machine" in output(console)
    assert "\x1b[?25h" in output(console)
    assert not report._bar.is_started


def test_many_events_make_few_redraws(events: tuple[Event, ...]) -> None:
    """The processes that are timed have the cores to themselves."""
    console, began = terminal(), time.monotonic()
    with progress.ProgressReport(console, bar=True) as report:
        for _ in range(100):
            report(events[-1])
            time.sleep(0.005)
    seconds = time.monotonic() - began
    # The first and the last come on top.
    assert 1 <= output(console).count("Trial 7") <= 2 + progress.REDRAWS_PER_SECOND * seconds


def lines(*events: Event) -> list[str]:
    text = StringIO()
    with progress.ProgressReport(Console(file=text, width=80, highlight=False)) as report:
        for event in events:
            report(event)
    return text.getvalue().splitlines()


def test_a_log_has_a_line_for_each_trial() -> None:
    """Aligned with the headings above it; each stage is announced once, a failure says why."""
    both = (*TRIALS, TRIALS[0], TRIALS[1])
    shown = lines(*(ended_by(trial, elapsed=65.0) for trial in both))
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


def test_a_run_is_compared_with_the_own_settings(plan: Plan) -> None:
    """With their first run, so that the base never changes; what is only expected is marked."""
    kept = (make_trial(0, examples_per_second=2000.0),)
    trials = (*kept, make_trial(1, PAIR), make_trial(2, ALONE, examples_per_second=2400.0))
    answer = answer_of(trials, PAIR, ALONE, base=2000.0)
    events = [TrialEnded(trial=each, elapsed=1.0, answer=answer) for each in trials[1:]]
    shown = lines(Planned(plan=plan, kept=kept), *events)
    assert any("Resuming after 1 trial" in line for line in shown)
    first, second = (line for line in shown if ", batch " in line)
    assert " 0.50 " in first
    assert " 1.20 " in second
    unknown = answer.model_copy(update={"base": None})
    assert " ~0.45 " in lines(TrialEnded(trial=trials[1], elapsed=1.0, answer=unknown))[-2]


def test_markup_in_a_reason_is_text() -> None:
    trial = make_trial(0, outcome=Outcome.FAILED, reason=Message(text="shape [32, 10] [/red]"))
    assert "shape [32, 10] [/red]" in "\n".join(lines(TrialEnded(trial=trial, elapsed=1.0)))


def started(elapsed: float) -> TrialStarted:
    alone = Configuration()
    return TrialStarted(number=0, stage=Stage.BASELINE, configuration=alone, elapsed=elapsed)


def test_the_clock_never_goes_back_after_a_wait() -> None:
    """What was waited for the machine counts; of the budget it takes nothing."""
    now = 0.0
    report = progress.ProgressReport(terminal(), now=lambda: now)
    report(Notice(text="Another search is running on this machine."))
    now = 300.0
    report(Preparing(what="Inspecting the machine"))
    now = 308.0
    report(started(8.0))
    assert (report.elapsed, report.spent) == (308.0, 8.0)
    now = 310.0
    assert (report.elapsed, report.spent) == (310.0, 10.0)
    report(started(9.0))  # Its time was taken before it came here.
    assert report.elapsed == 310.0


def test_a_search_that_began_before_is_where_its_events_say() -> None:
    """As whoever follows a job sees that comes late."""
    report = progress.ProgressReport(terminal(), now=lambda: 0.0)
    report(started(100.0))
    assert (report.elapsed, report.spent) == (100.0, 100.0)
