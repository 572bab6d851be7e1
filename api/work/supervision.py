"""One attempt while its process runs: its messages, its lease, and its end in time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

from autotune import events
from autotune.api.settings import Code, Patience
from autotune.api.store import attempts
from autotune.api.store.advance import superseded
from autotune.api.store.database import Database
from autotune.api.values import AttemptReport, ClaimedJob
from autotune.api.work.messages import ODD, FinalMessage, GaveUp, Message
from autotune.api.work.tuner import Tuner
from autotune.text import size
from autotune.wire.errors import DatabaseUnavailable, ServiceError
from autotune.wire.jobs import State

Result = TypeVar("Result")
_RETRY_SECONDS = 0.5
_LISTEN_SECONDS = 0.1
_WATCH_SECONDS = 1.0
"""Between two looks at what uploaded code takes."""


def awake() -> float:
    """Return seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Renews the lease of a claimed job in time, and polls the state of the job.

    A worker that cannot renew gives up a third of the lease before the database would, so that no
    other one begins to measure while its processes still run.
    """

    def __init__(
        self,
        database: Database,
        claimed: ClaimedJob,
        patience: Patience,
        clock: Callable[[], float] = awake,
    ) -> None:
        self.database = database
        self.claimed = claimed
        self.token = claimed.token
        self.patience = patience
        self._clock = clock
        self._renewed = self._polled = clock()
        self._state = State.RUNNING

    def keep(self) -> State:
        """Renew the lease if it is time to; return the state of the job as last seen."""
        self._check()
        now = self._clock()
        try:
            if now - self._renewed >= self.patience.renewal:
                self.renew()
            elif now - self._polled >= self.patience.poll:
                self._state = attempts.status(self.database, self.token)
                self._polled = now
        except DatabaseUnavailable:
            self._check()
        return self._state

    def renew(self) -> None:
        # Counted from before the call: the database may have been slow to answer.
        now = self._clock()
        self._state = attempts.renew(self.database, self.token, self.patience.lease)
        self._renewed = self._polled = now

    def insist(self, write: Callable[[], Result]) -> Result:
        """Write, again and again while the database does not answer and the lease lasts."""
        while True:
            try:
                return write()
            except DatabaseUnavailable:
                self._check()
                time.sleep(min(_RETRY_SECONDS, self.patience.lease / 10))

    def _check(self) -> None:
        if self._clock() - self._renewed > self.patience.lease * 2 / 3:
            raise superseded()


class EndCause(StrEnum):
    ANSWERED = "answered"
    """Its process sent a result, or why there is none."""
    DIED = "died"
    """Its process ended without a last message."""
    CANCELLED = "cancelled"
    OVERRAN = "overran"
    STOPPED = "stopped"
    EXCEEDED = "exceeded"
    """Uploaded code took more than it may."""


class Supervision:
    def __init__(
        self, lease: Lease, tuner: Tuner, limits: Code, stopping: Callable[[], bool]
    ) -> None:
        self._limits = limits
        self._lease = lease
        self._tuner = tuner
        self._stopping = stopping
        self._seconds = tuner.order.options.budget or lease.claimed.job.seconds
        self._heard = 0
        self._unwritten: deque[AttemptReport] = deque()
        self._began: float | None = None
        self._deadline = 0.0
        self.asked: EndCause | None = None
        self.final: FinalMessage | None = None
        self._watched = time.monotonic()

    def follow(self) -> EndCause:
        cause = None
        while cause is None:
            # Checked before listening: what it wrote before its exit is then heard in this turn.
            ended = self._tuner.ended is not None
            self._hear(self._tuner.listen(_LISTEN_SECONDS))
            state = self._lease.keep()
            with suppress(DatabaseUnavailable):  # The next turn looks at the lease first.
                self._write()
            cause = self._cause(state, ended=ended)
        if cause is EndCause.ANSWERED:
            self._lease.insist(self._write)
        return cause

    def _hear(self, received: list[Message]) -> None:
        for each in received:
            self._heard += 1
            report = _report_of(each)
            self._unwritten.append(report.model_copy(update={"number": self._heard}))
            if report.began:
                self._began = time.monotonic()
            elif isinstance(each, FinalMessage):
                self.final = each

    def _write(self) -> None:
        while self._unwritten:
            try:
                attempts.record(self._lease.database, self._lease.token, self._unwritten[0])
            except ServiceError:
                raise
            except Exception:  # noqa: BLE001 - no database takes it, such as a number that is known
                self._unwritten.clear()
                self.final = GaveUp(reason=ODD)
                return
            self._unwritten.popleft()

    def _cause(self, state: State, *, ended: bool) -> EndCause | None:
        if self.final is not None:
            return EndCause.ANSWERED
        if ended:
            return self.asked or EndCause.DIED
        if (reason := self._exceeded()) is not None:
            self.final = GaveUp(reason=reason)
            return EndCause.EXCEEDED
        if self._stopping():
            return EndCause.STOPPED
        cause = self._reason_to_end(state)
        if cause and not self.asked:
            self.asked = cause
            self._deadline = time.monotonic() + self._lease.patience.interrupt
            self._tuner.interrupt()
        return self.asked if self.asked and time.monotonic() > self._deadline else None

    def _exceeded(self) -> str | None:
        """Return what uploaded code takes too much of, as a sentence, looking now and then."""
        if time.monotonic() < self._watched:
            return None
        began = time.monotonic()
        use = self._tuner.use()
        # Looking takes longer the more there is, and disturbs what is measured.
        self._watched = time.monotonic() + max(_WATCH_SECONDS, 100 * (time.monotonic() - began))
        if use is None:
            return None
        most = self._limits
        memory = most.most_memory
        for taken, allowed, words in (
            (use.memory, memory, f"{size(use.memory)} of memory; {size(memory)}"),
            (use.processes, most.processes, f"{use.processes} processes; {most.processes}"),
            (use.disk, most.disk, f"{size(use.disk)} of the disk; {size(most.disk)}"),
        ):
            if taken > allowed:
                return f"The program took {words} are allowed here."
        return None

    def _reason_to_end(self, state: State) -> EndCause | None:
        if state is State.CANCELLING:
            return EndCause.CANCELLED
        most = self._seconds + self._lease.patience.overrun
        if self._began is not None and time.monotonic() - self._began > most:
            return EndCause.OVERRAN
        return None


def _report_of(what: Message) -> AttemptReport:
    if isinstance(what, AttemptReport):
        return what
    if isinstance(what, FinalMessage):
        return AttemptReport()  # It is recorded with the job's end, once nothing of it is left.
    return AttemptReport(
        events=(what,), trial=what.trial if isinstance(what, events.TrialEnded) else None
    )
