"""What a notebook shows."""

from __future__ import annotations

import time
from html.parser import HTMLParser

from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted, nobody
from autotune.plan import Plan
from autotune.reason import Message
from autotune.report.follow import follow
from autotune.report.notebook import NotebookReport, in_notebook, result_html
from autotune.result import Result
from autotune.trial import Trial

HOSTILE = "</td><script>alert('x')</script> & <b>"


class Cell:
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, html: str) -> None:
        """Remember it."""
        self.shown.append(html)


class Balance(HTMLParser):
    """Fails where a tag is closed that was not the last one opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note a tag."""
        del attrs
        self.open.append(tag)
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check a tag."""
        assert self.open.pop() == tag


def parsed(html: str) -> Balance:
    found = Balance()
    found.feed(html)
    assert not found.open
    return found


def test_the_result_is_well_formed_and_small(result: Result) -> None:
    """Every tag is closed, nothing is loaded, and it does not bloat the notebook."""
    html = result_html(result)
    found = parsed(html)
    assert {"table", "details", "style"} <= found.names
    assert "http" not in html
    assert len(html) < 10_000
    assert "1.42 (" in html
    assert "recommended" in html


def test_nothing_in_the_result_is_markup(result: Result) -> None:
    """What a user's code says is shown as it is."""
    trials = tuple(t.model_copy(update={"reason": Message(text=HOSTILE)}) for t in result.trials)
    hostile = {"summary": HOSTILE, "reasons": (HOSTILE + "!",), "trials": trials}
    html = result_html(result.model_copy(update=hostile))
    assert "script" not in parsed(html).names
    assert "&lt;script&gt;" in html


def test_the_view_shows_phase_budget_and_trials(card_plan: Plan, trials: tuple[Trial, ...]) -> None:
    """Each of them is in what was shown last, and a failure says why."""
    cell, last = Cell(), trials[-1]
    with NotebookReport(cell) as report:
        report(Planned(plan=card_plan))
        for trial in trials:
            report(TrialEnded(trial=trial, elapsed=60.0))
        report(Notice(text=HOSTILE))
        report(
            TrialStarted(number=7, stage=last.stage, configuration=last.configuration, elapsed=65.0)
        )
    assert cell.shown.pop() == ""
    html = cell.shown.pop()
    assert "script" not in parsed(html).names
    for text in ("Finals", "1:05 of 3:00", "Trial 7", "crashed", "SIGSEGV", "distributed"):
        assert text in html


def test_the_view_is_cleared_at_the_end() -> None:
    """The result takes its place."""
    cell = Cell()
    with NotebookReport(cell) as report:
        report(Preparing(what="Inspecting the machine"))
    assert cell.shown[-1] == ""
    assert any("Inspecting the machine" in html for html in cell.shown)


def test_many_events_make_few_redraws(trials: tuple[Trial, ...]) -> None:
    """The processes that are timed have the cores to themselves."""
    cell = Cell()
    began = time.monotonic()
    with NotebookReport(cell) as report:
        for _ in range(50):
            report(TrialEnded(trial=trials[0], elapsed=1.0))
    # The first, the last, the empty one, and one for each second between.
    assert len(cell.shown) <= 3 + time.monotonic() - began


def test_a_script_is_not_followed() -> None:
    """Outside of a notebook and a terminal nobody asked for lines."""
    assert not in_notebook()
    with follow(progress=False) as observer:
        assert observer is nobody
