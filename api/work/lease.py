"""Keeping the lease of an attempt, and noticing that it is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from autotune.api.errors import DatabaseUnavailable
from autotune.api.failpoints import FailPoint, reach
from autotune.api.settings import Patience
from autotune.api.states import State
from autotune.api.store import attempts
from autotune.api.store.advance import superseded
from autotune.api.store.database import Database
from autotune.api.values import Grip

Result = TypeVar("Result")
_RETRY_SECONDS = 0.5


def awake() -> float:
    """Return seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Renews a lease in time, and looks at the state of the job on the way.

    A worker that cannot renew gives up a third of the lease before the database would, so that no
    other one begins to measure while its processes still run.

    Args:
        database: Where it is.
        grip: The attempt.
        patience: How long, and how often.
        clock: Seconds.
    """

    def __init__(
        self,
        database: Database,
        grip: Grip,
        patience: Patience,
        clock: Callable[[], float] = awake,
    ) -> None:
        self._database = database
        self._grip = grip
        self._patience = patience
        self._clock = clock
        self._renewed = self._looked = clock()
        self._state = State.RUNNING

    def keep(self) -> State:
        """Renew the lease if it is time to; return the state of the job as last seen.

        Raises:
            Superseded: The lease is lost.
        """
        self._check()
        now = self._clock()
        try:
            if now - self._renewed >= self._patience.renewal:
                self.renew()
            elif now - self._looked >= self._patience.look:
                self._state = attempts.standing(self._database, self._grip)
                self._looked = now
                reach(FailPoint.AFTER_RENEWAL)
        except DatabaseUnavailable:
            self._check()
        return self._state

    def renew(self) -> None:
        """Renew the lease now.

        Raises:
            Superseded: The lease is lost.
            DatabaseUnavailable: It could not be renewed; it may last a while.
        """
        # Counted from before the call: the database may have been slow to answer.
        now = self._clock()
        self._state = attempts.renew(self._database, self._grip, self._patience.lease)
        self._renewed = self._looked = now
        reach(FailPoint.AFTER_RENEWAL)

    def insist(self, write: Callable[[], Result]) -> Result:
        """Write, again and again while the database does not answer and the lease lasts.

        Raises:
            Superseded: The lease is lost.
        """
        while True:
            try:
                return write()
            except DatabaseUnavailable:
                self._check()
                time.sleep(min(_RETRY_SECONDS, self._patience.lease / 10))

    def _check(self) -> None:
        if self._clock() - self._renewed > self._patience.lease * 2 / 3:
            raise superseded()
