"""Something that is to be done now and then, by whoever comes by often."""

from __future__ import annotations

import time
from collections.abc import Callable


class Chore:
    """Does something when it is asked to, but not again before some time has passed.

    Args:
        do: What.
        seconds: How long it need not be done again.
        clock: Seconds.
    """

    def __init__(
        self, do: Callable[[], None], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._do = do
        self._seconds = seconds
        self._clock = clock
        self._due: float | None = None

    def do_if_due(self) -> None:
        """Do it the first time, and then whenever it is time to; an error puts nothing off."""
        now = self._clock()
        if self._due is None or now >= self._due:
            self._do()
            self._due = now + self._seconds
