"""The worker processes of one run on this machine, forked by the fork server."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from autotune.engine.events import EventReader
from autotune.engine.failure import STACK_SIGNAL, last_lines
from autotune.engine.folder import TrialFolder
from autotune.engine.forking import ForkClient
from autotune.engine.memory import MemoryGauge, ceiling, kernel_kills
from autotune.engine.reasons import exit_of
from autotune.engine.workers import Exit, MemoryUse, Report, WorkerGroup

_STACK_SECONDS = 0.2
Environment = Mapping[str, str | None]
"""Variables of a process; None removes one."""
ONE: Mapping[int, Environment] = {0: {}}
"""A single process, with the variables of its server."""


class Gang(WorkerGroup):
    """Worker processes of this machine.

    Args:
        server: Forks them.
        folder: Theirs.
        task: What they do, by its name in `autotune.engine.child`.
        environments: Variables of each by its position in the run, beside the server's; None
            removes one.
        memory: Bytes that all may hold together; None takes most of what is free.
    """

    def __init__(
        self,
        server: ForkClient,
        folder: TrialFolder,
        task: str,
        environments: Mapping[int, Environment] = ONE,
        memory: int | None = None,
    ) -> None:
        self._server = server
        self._folder = folder
        self._task = task
        self._environments = environments
        self._pids: dict[int, int] = {}
        self._readers = {i: EventReader(folder.events(i)) for i in environments}
        self._gauge = MemoryGauge(server.pid, memory or ceiling())
        self._kills = kernel_kills()

    def start(self) -> None:
        """Start all processes."""
        for index, environment in self._environments.items():
            order = {
                "task": self._task,
                "folder": str(self._folder.path),
                "index": index,
                "directory": str(Path.cwd()),
                "path": [*map(str, sys.path)],
                "environment": environment,
            }
            self._pids[index] = self._server.fork(order)

    def listen(self, seconds: float) -> list[Report]:
        """Return what was reported since the last call, oldest first."""
        self._server.listen(seconds)
        return self.read()

    def read(self) -> list[Report]:
        """Return what was reported since the last call, without waiting."""
        reports = [
            Report(member, event)
            for member, reader in self._readers.items()
            for event in reader.read()
        ]
        return sorted(reports, key=lambda report: report.event["at"])

    def exits(self) -> Mapping[int, Exit]:
        """Return how each process ended that is gone, by position."""
        known = self._server.exits
        gone = {i: known[pid] for i, pid in self._pids.items() if pid in known}
        for_memory = bool(gone) and kernel_kills() > self._kills
        return {i: exit_of(status, for_memory=for_memory) for i, status in gone.items()}

    def memory(self) -> MemoryUse:
        """Return what the processes hold, with a new sample if it is time for one."""
        exceeded = self._gauge.exceeded()
        return MemoryUse(self._gauge.peak, self._gauge.most, exceeded)

    def last_words(self, member: int) -> str:
        """Return the last lines that a process printed."""
        with suppress(OSError), self._folder.output(member).open("rb") as output:
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - 20_000))
            return last_lines(output.read().decode(errors="replace"))
        return ""

    def stack(self, member: int) -> str:
        """Make a process that hangs print where its threads stand, and return that."""
        with suppress(ProcessLookupError, KeyError):
            os.kill(self._pids[member], STACK_SIGNAL)
            time.sleep(_STACK_SECONDS)
        return self.last_words(member)

    def end(self) -> None:
        """End all processes and what they started, and wait until nothing is left."""
        try:
            self._server.end_children()
        finally:
            for reader in self._readers.values():
                reader.close()
