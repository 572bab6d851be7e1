"""The clock of whoever follows a search."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.events import Notice, Preparing, TrialStarted
from autotune.result.progress import Progress
from autotune.trial import Stage


def started(elapsed: float) -> TrialStarted:
    return TrialStarted(
        number=0, stage=Stage.BASELINE, configuration=Configuration(), elapsed=elapsed
    )


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


def test_a_search_that_began_before_is_where_its_events_say() -> None:
    """As whoever follows a job sees that comes late."""
    progress = Progress(now=lambda: 0.0)
    progress.take(started(100.0))
    assert (progress.elapsed, progress.spent) == (100.0, 100.0)


def test_a_late_event_does_not_set_the_clock_back() -> None:
    """Its time was taken before it came here."""
    now = 0.0
    progress = Progress(now=lambda: now)
    progress.take(Preparing(what="Inspecting the machine"))
    now = 9.0
    progress.take(started(8.0))
    assert progress.elapsed == 9.0
