"""How much each worker of a gang works for a step: who works longer keeps the others waiting."""

from __future__ import annotations

from autotune.run import events
from autotune.run.events import Event

EARLY = 0.5
"""Share of the windows that may still belong to the warm-up."""


class Efforts:
    """Keeps what each process says that it worked.

    Args:
        members: How many processes there are.
    """

    def __init__(self, members: int) -> None:
        self._windows: list[list[tuple[int, float]]] = [[] for _ in range(members)]

    def note(self, member: int, event: Event) -> None:
        """Take in an event of a process, if it is a window."""
        if event["event"] == events.WINDOW:
            self._windows[member].append((event["steps"], event["work"]))

    def per_step(self) -> tuple[float, ...]:
        """Return the core seconds of a step for each process; empty if one did not say."""
        late = [each[int(len(each) * EARLY) :] for each in self._windows]
        if not all(late):
            return ()
        return tuple(sum(work for _, work in each) / sum(n for n, _ in each) for each in late)
