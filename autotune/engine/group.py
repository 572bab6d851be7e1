"""The worker processes of one run: what a run needs of them, and those of this machine.

A group starts the processes of one run together, hands on what they report, and ends them together.
On which host a process is, and how it was started, only the group knows.
"""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from autotune.engine.events import STACK_SIGNAL, Event, EventReader, last_lines
from autotune.engine.folder import TrialFolder
from autotune.engine.fork_client import ForkClient
from autotune.engine.load import MemoryGauge, kernel_kills
from autotune.engine.reasons import exit_of
from autotune.reason import Exited, KernelKilled, Killed

POLL = 0.02
"""Seconds between two queries for what is reported. A local one costs some 50 microseconds."""
Exit = Killed | Exited | KernelKilled
"""How a worker process ended; its name is left to the caller, which knows the roles."""
_STACK_SECONDS = 0.2
Environment = Mapping[str, str | None]
"""Variables of a process; None removes one."""


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


class WorkerGroup(Protocol):
    """The worker processes of one run. Their positions are those of the run's roles."""

    def start(self) -> None:
        """Start all processes.

        Raises:
            EngineError: The system refuses another process.
            WorkersLost: The host that should start them is gone.
        """

    def listen(self, seconds: float) -> list[Report]:
        """Return what was reported since the last call.

        The times in the events are those of the caller's monotonic clock.

        Args:
            seconds: Longest wait for the end of a process.

        Raises:
            WorkersLost: All processes are gone or out of reach.
        """

    def exits(self) -> Mapping[int, Exit]:
        """Return how each process ended that is gone, by position."""

    def memory(self) -> MemoryUse:
        """Return what the processes hold, with a new sample if it is time for one."""

    def last_words(self, member: int, *, stack: bool = False) -> str:
        """Return the last lines that a process printed.

        Args:
            stack: Have it print first where its threads stand.
        """

    def end(self) -> None:
        """End all processes and what they started, and wait until nothing is left.

        What they left for the caller is in the run's folder then. May be called before `start`.
        """


class LocalGroup(WorkerGroup):
    """Worker processes of this machine.

    Args:
        environments: Variables of each by its position in the run, beside the server's; None
            removes one.
        memory: Bytes that all may hold together, at most what is free; None takes most of that.
    """

    def __init__(
        self,
        server: ForkClient,
        folder: TrialFolder,
        environments: Mapping[int, Environment],
        memory: int | None,
    ) -> None:
        self._server = server
        self._folder = folder
        self._environments = environments
        self._pids: dict[int, int] = {}
        self._readers = {i: EventReader(folder.events(i)) for i in environments}
        self._gauge = MemoryGauge(server.process.pid, memory)
        self._kills = kernel_kills()

    def start(self) -> None:
        for index, environment in self._environments.items():
            order = {
                "folder": str(self._folder.path),
                "index": index,
                "directory": str(Path.cwd()),
                "path": [*map(str, sys.path)],
                "environment": environment,
            }
            self._pids[index] = self._server.fork(order)

    def listen(self, seconds: float) -> list[Report]:
        self._server.listen(seconds)
        return [
            Report(member, event)
            for member, reader in self._readers.items()
            for event in reader.read()
        ]

    def exits(self) -> Mapping[int, Exit]:
        known = self._server.exits
        gone = {i: known[pid] for i, pid in self._pids.items() if pid in known}
        for_memory = bool(gone) and kernel_kills() > self._kills
        return {i: exit_of(status, for_memory=for_memory) for i, status in gone.items()}

    def memory(self) -> MemoryUse:
        exceeded = self._gauge.exceeded()
        return MemoryUse(self._gauge.peak, self._gauge.most, exceeded)

    def last_words(self, member: int, *, stack: bool = False) -> str:
        if stack:
            with suppress(ProcessLookupError, KeyError):
                os.kill(self._pids[member], STACK_SIGNAL)
                time.sleep(_STACK_SECONDS)
        with suppress(OSError), self._folder.output(member).open("rb") as output:
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - 20_000))
            return last_lines(output.read().decode(errors="replace"))
        return ""

    def end(self) -> None:
        self._server.end_children()
