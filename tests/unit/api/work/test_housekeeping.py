"""What is done now and then."""

from __future__ import annotations

import pytest

from autotune.api.work.housekeeping import Chore


def test_it_is_done_at_once_and_then_now_and_then() -> None:
    times = iter([5.0, 6.0, 14.9, 15.0, 16.0, 40.0])
    done: list[None] = []
    counts: list[int] = []
    chore = Chore(lambda: done.append(None), 10, clock=lambda: next(times))
    for _ in range(6):
        chore.do_if_due()
        counts.append(len(done))
    assert counts == [1, 1, 1, 2, 2, 3]


def test_what_fails_is_tried_again() -> None:
    answers = iter([ZeroDivisionError, None])

    def work() -> None:
        error = next(answers)
        if error:
            raise error

    chore = Chore(work, 10, clock=lambda: 0.0)
    with pytest.raises(ZeroDivisionError):
        chore.do_if_due()
    chore.do_if_due()
    chore.do_if_due()
    assert next(answers, "all used") == "all used"
