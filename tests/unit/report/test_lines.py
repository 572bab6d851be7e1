"""Lines for a log."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from autotune.events import Event, Notice, Planned, Preparing, TrialEnded
from autotune.plan import Plan
from autotune.reason import Message, Outcome
from autotune.report import PlainReport
from autotune.trial import Trial

MakeTrial = Callable[..., Trial]


def lines(*events: Event) -> list[str]:
    text = StringIO()
    with PlainReport(Console(file=text, width=80, highlight=False)) as report:
        for event in events:
            report(event)
    return text.getvalue().splitlines()


def test_one_line_for_each_trial(trials: tuple[Trial, ...]) -> None:
    """Each trial has a line, aligned with the headings above it."""
    shown = lines(*(TrialEnded(trial=trial, elapsed=65.0) for trial in trials))
    heading = next(line for line in shown if "configuration" in line)
    column = heading.index("configuration")
    rows = [line for line in shown if "batch" in line]
    assert len(rows) == len(trials)
    assert all(row[column - 1] == " " != row[column] for row in rows)
    assert rows[0].split()[:5] == ["1:05", "0", "measured", "1,000", "1.00"]


def test_a_failure_says_why_in_its_line(trials: tuple[Trial, ...]) -> None:
    """The reason stands behind the configuration, whatever the console's width."""
    assert lines(TrialEnded(trial=trials[2], elapsed=1.0))[-2].endswith(
        " - worker 1 was killed by SIGSEGV"
    )


def test_every_stage_is_announced_once(trials: tuple[Trial, ...]) -> None:
    """A line in plain words begins each stage."""
    text = "\n".join(lines(*(TrialEnded(trial=trial, elapsed=1.0) for trial in trials)))
    for words in ("Searching for the best settings", "Searching for a distributed", "Finals: "):
        assert text.count(words) == 1


@pytest.mark.parametrize(
    "event", [Preparing(what="Inspecting\nthe machine"), Notice(text="A finalist fell")]
)
def test_other_events_take_a_line(event: Preparing | Notice) -> None:
    """What it says is one line, followed by the blank one that ends the report."""
    assert len(lines(event)) == 2


def test_what_is_repeated_is_said_once() -> None:
    """A diagnosis takes many runs in a row; what comes back later is said again."""
    taken, other = Preparing(what="Taking a step apart"), Preparing(what="Timing an exchange")
    shown = lines(taken, taken, other, taken)
    assert [each.split("  ")[-1] for each in shown] == [taken.what, other.what, taken.what, ""]


def test_a_resumed_search_counts_what_it_has(card_plan: Plan, make_trial: MakeTrial) -> None:
    """The trials of the study are counted, and later ones are compared with them."""
    kept = (make_trial(0, examples_per_second=2000.0),)
    shown = lines(Planned(plan=card_plan, kept=kept), TrialEnded(trial=make_trial(1), elapsed=1.0))
    assert any("Resuming after 1 trial" in line for line in shown)
    assert " 0.71 " in shown[-2]


def test_markup_in_a_reason_is_text(make_trial: MakeTrial) -> None:
    """Brackets in what TensorFlow says are not taken for styles."""
    trial = make_trial(0, outcome=Outcome.FAILED, reason=Message(text="shape [32, 10] [/red]"))
    assert "shape [32, 10] [/red]" in "\n".join(lines(TrialEnded(trial=trial, elapsed=1.0)))
