"""The contract between a run and its worker processes, wherever they are.

A group starts the processes of one run together, hands on what they report, and ends them
together. Nothing here says on which host a process is or how it was started; the local
implementation is `autotune.engine.gang`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from autotune.engine.events import Event
from autotune.reason import Exited, KernelKilled, Killed, Reason

POLL = 0.02
"""Seconds between looks at what is reported. A local look costs some 50 microseconds."""
Exit = Killed | Exited | KernelKilled
"""How a worker process ended; its name is left to the caller, who knows the roles."""


class Report(NamedTuple):
    """An event, and the position of the process that reported it."""

    member: int
    event: Event


class MemoryUse(NamedTuple):
    """How much memory the processes of a group hold."""

    peak: int
    """Largest sum of resident bytes so far."""
    limit: int
    exceeded: bool


class WorkersLost(Exception):
    """All processes of a group are gone or out of reach.

    Args:
        reason: Why.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.kind)
        self.reason = reason


class WorkerGroup(Protocol):
    """The worker processes of one run. Their positions are those of the run's roles."""

    def start(self) -> None:
        """Start all processes.

        Raises:
            EngineError: The system refuses another process.
            WorkersLost: The host that should start them is gone.
        """

    def listen(self, seconds: float) -> list[Report]:
        """Return what was reported since the last call, oldest first.

        The times in the events are those of the caller's monotonic clock.

        Args:
            seconds: Longest wait for the end of a process.

        Raises:
            WorkersLost: All processes are gone or out of reach.
        """

    def read(self) -> list[Report]:
        """Return what was reported since the last call, without waiting."""

    def exits(self) -> Mapping[int, Exit]:
        """Return how each process ended that is gone, by position."""

    def memory(self) -> MemoryUse:
        """Return what the processes hold, with a new sample if it is time for one."""

    def last_words(self, member: int) -> str:
        """Return the last lines that a process printed."""

    def stack(self, member: int) -> str:
        """Make a process that hangs print where its threads stand, and return that."""

    def end(self) -> None:
        """End all processes and what they started, and wait until nothing is left.

        What they left for the caller is in the run's folder then. May be called before `start`.
        """
