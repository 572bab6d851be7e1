"""The processes of one trial."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from autotune.run.events import Event, EventReader
from autotune.run.failure import STACK_SIGNAL, last_lines
from autotune.run.folder import TrialFolder
from autotune.run.forking import ForkClient

POLL = 0.02
"""Seconds between looks at what is reported. A look costs some 50 microseconds."""
_STACK_SECONDS = 0.2


class Report(NamedTuple):
    """An event, and the position of the process that reported it."""

    member: int
    event: Event


class Gang:
    """Starts processes that belong together, hears what they report, and ends them together.

    Args:
        server: Forks them.
        folder: Theirs.
        task: What they do, by its name in `autotune.run.child`.
        environments: Variables of each, beside the server's; None removes one.
    """

    def __init__(
        self,
        server: ForkClient,
        folder: TrialFolder,
        task: str,
        environments: Sequence[Mapping[str, str | None]] = ({},),
    ) -> None:
        self._server = server
        self._folder = folder
        self._task = task
        self._environments = environments
        self._pids: list[int] = []
        self._readers = [EventReader(folder.events(i)) for i in range(len(environments))]

    def start(self) -> None:
        """Start all processes."""
        for index, environment in enumerate(self._environments):
            order = {
                "task": self._task,
                "folder": str(self._folder.path),
                "index": index,
                "directory": str(Path.cwd()),
                "path": [*map(str, sys.path)],
                "environment": environment,
            }
            self._pids.append(self._server.fork(order))

    def listen(self, seconds: float) -> list[Report]:
        """Return what was reported since the last call, oldest first.

        Args:
            seconds: Longest wait for the end of a process.

        Raises:
            ForkServerDied: All processes died with their server.
        """
        self._server.listen(seconds)
        return self.read()

    def read(self) -> list[Report]:
        """Return what was reported since the last call, without waiting."""
        reports = [
            Report(member, event)
            for member, reader in enumerate(self._readers)
            for event in reader.read()
        ]
        return sorted(reports, key=lambda report: report.event["at"])

    def exits(self) -> dict[int, int]:
        """Return the wait status of each process that is gone, by position."""
        gone = self._server.exits
        return {i: gone[pid] for i, pid in enumerate(self._pids) if pid in gone}

    def last_words(self, member: int) -> str:
        """Return the last lines that a process printed."""
        with suppress(OSError), self._folder.output(member).open("rb") as output:
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - 20_000))
            return last_lines(output.read().decode(errors="replace"))
        return ""

    def stack(self, member: int) -> str:
        """Make a process that hangs print where its threads stand, and return that."""
        with suppress(ProcessLookupError, IndexError):
            os.kill(self._pids[member], STACK_SIGNAL)
            time.sleep(_STACK_SECONDS)
        return self.last_words(member)

    def end(self) -> None:
        """End all processes and what they started, and wait until nothing is left."""
        try:
            self._server.end_children()
        finally:
            for reader in self._readers:
                reader.close()
