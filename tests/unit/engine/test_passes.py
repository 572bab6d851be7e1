"""Work that blocks is given up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from autotune.engine.child.passes import within


def test_work_that_ends_is_done() -> None:
    """All values are there, and that it ended is known."""
    progress = within(10, range(3))
    assert (progress.values, progress.done, progress.error) == ((0, 1, 2), True, None)


def test_an_error_is_kept() -> None:
    """What came before it counts, but the work is not done."""

    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("gone")

    progress = within(10, failing())
    assert (progress.values, progress.done) == ((1,), False)
    assert isinstance(progress.error, KeyError)


def test_blocking_work_is_left_behind() -> None:
    """The values so far are returned when the time is over."""
    never = threading.Event()

    def blocking() -> Iterator[int]:
        yield 1
        never.wait()
        yield 2

    progress = within(1.0, blocking())
    never.set()
    assert (progress.values, progress.done, progress.error) == ((1,), False, None)
