"""What the provider publishes, kept for a while, and not asked for as often as somebody likes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from autotune.api.errors import ProviderUnavailable
from autotune.api.log import say

KEPT_SECONDS = 3600.0
"""It is asked for again after so long, so that what was withdrawn is forgotten."""
REFETCH_SECONDS = 30.0
"""Shortest time between two looks for something newer: anybody may say that there is."""
RETRY_SECONDS = 5.0
"""The same where the provider did not answer."""
WAIT_SECONDS = 1.0
"""Longest wait for somebody else's look where nothing is known yet."""
Published = TypeVar("Published")


class Fetched(Generic[Published]):
    """Something of the provider's. Threads may share it.

    One of them looks at a time. The others go on with what is known, or do without it: if they
    waited for a provider that hangs, nobody would be served.

    Args:
        fetch: Asks the provider.
        clock: Tells seconds that never go back.
    """

    def __init__(
        self, fetch: Callable[[], Published], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = Lock()
        self._known: Published | None = None
        self._old = self._next = -float("inf")

    def get(self) -> Published:
        """Return it, however old, if the provider does not answer.

        Raises:
            ProviderUnavailable: It has never answered.
        """
        known = self._known
        if known is None or self._clock() >= self._old:
            known = self.newer(known) or known
        if known is None:
            raise ProviderUnavailable(
                "The identity provider does not answer as one of this issuer.",
                "Try again; if it recurs, tell the operator.",
            )
        return known

    def newer(self, known: Published | None) -> Published | None:
        """Return what is newer than what is known; None if nothing is, or it is too soon."""
        if not self._lock.acquire(timeout=WAIT_SECONDS if known is None else 0):
            return None
        try:
            if self._known is known and self._clock() >= self._next:
                self._look()
            return None if self._known is known else self._known
        finally:
            self._lock.release()

    def _look(self) -> None:
        try:
            self._known = self._fetch()
            self._next = self._clock() + REFETCH_SECONDS
            self._old = self._clock() + KEPT_SECONDS
        except ProviderUnavailable as exc:
            self._next = self._clock() + RETRY_SECONDS
            cause = type(exc.__cause__ or exc).__name__
            say("The identity provider does not answer.", logging.ERROR, error=cause)
