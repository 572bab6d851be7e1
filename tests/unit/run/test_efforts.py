"""How much each worker works for a step."""

from __future__ import annotations

import pytest

from autotune.run import events
from autotune.run.efforts import Efforts


def window(steps: int, work: float) -> dict[str, object]:
    return {"event": events.WINDOW, "at": 0.0, "steps": steps, "work": work}


def test_work_is_told_for_a_step_of_the_later_half() -> None:
    """The warm-up, which compiles, does not count."""
    efforts = Efforts(2)
    for member, later in ((0, 1.0), (1, 3.0)):
        efforts.note(member, window(10, 99.0))
        efforts.note(member, window(10, later))
    assert efforts.per_step() == pytest.approx((0.1, 0.3))


def test_who_says_nothing_is_not_guessed() -> None:
    """With one worker silent nothing is told; other events are none of this."""
    efforts = Efforts(2)
    efforts.note(0, window(10, 1.0))
    efforts.note(1, {"event": events.STARTED, "at": 0.0})
    assert efforts.per_step() == ()
