"""How often somebody may ask."""

from __future__ import annotations

import time
from collections.abc import Callable

from autotune.api.errors import TooManyRequests

AT_ONCE_SECONDS = 10.0
"""So many seconds' requests may come together."""
MOST_KNOWN = 10_000


class Rates:
    """Bounds the requests of each caller. To be used within one event loop.

    Args:
        per_second: Most requests of one caller, on average over `AT_ONCE_SECONDS`.
        clock: Tells seconds that never go back.
    """

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = 1 / per_second
        self._clock = clock
        self._used: dict[str, float] = {}
        """Until when each has used up what it may; in the past for whoever has asked seldom."""

    def count(self, who: str) -> None:
        """Count a request of somebody.

        Raises:
            TooManyRequests: It is one too many, and does not count.
        """
        now = self._clock()
        used = max(now, self._used.get(who, now)) + self._each
        if used > now + AT_ONCE_SECONDS:
            raise TooManyRequests(
                f"More than {1 / self._each:.0f} requests per second came from this caller.",
                "Wait a second; follow a job by its events instead of asking for it.",
            )
        self._used[who] = used
        if len(self._used) > MOST_KNOWN:
            self._used = {name: until for name, until in self._used.items() if until > now}
