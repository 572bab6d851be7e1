"""Each phase of a trial has its limit."""

from __future__ import annotations

import pytest

from autotune.reason import Phase
from autotune.run.engine import Limits
from autotune.run.watchdog import Watchdog
from autotune.sentences.reasons import reason_text

LIMITS = Limits(start=10, first_step=20, window=5)


def after(*events: tuple[str, float]) -> Watchdog:
    dog = Watchdog(LIMITS, begun=100.0)
    for event, at in events:
        dog.note({"event": event, "at": at})
    return dog


@pytest.mark.parametrize(
    ("dog", "phase", "last_moment", "words"),
    [
        (after(), Phase.START, 110, "had not begun after 10 s"),
        (after(("started", 101)), Phase.START, 110, "start"),
        (after(("train_begin", 104)), Phase.FIRST_STEP, 124, "not finished after 20 s"),
        (after(("train_begin", 104), ("first_step", 110)), Phase.STEADY, 115, "for 5 s"),
        (after(("first_step", 110), ("window", 112)), Phase.STEADY, 117, "for 5 s"),
    ],
)
def test_phases_and_their_limits(
    dog: Watchdog, phase: Phase, last_moment: float, words: str
) -> None:
    """A phase begins with its event, and is overdue just after its limit."""
    assert dog.phase is phase
    assert dog.overdue(last_moment) is None
    overdue = dog.overdue(last_moment + 0.001)
    assert overdue is not None
    assert overdue.phase is phase
    assert words in reason_text(overdue)
    assert reason_text(overdue).endswith(".")
