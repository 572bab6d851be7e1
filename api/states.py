"""The states of a job, and the only steps between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    """Waits for a worker; it may have run before."""
    RUNNING = "running"
    """A worker has it, or had it until a crash; then the next one goes on with it."""
    CANCELLING = "cancelling"
    """Somebody cancelled it, and its worker has not ended it yet."""
    DONE = "done"
    """It has a recommendation."""
    CANCELLED = "cancelled"
    """It ended because somebody wanted it to; what it had found by then may be there."""
    FAILED = "failed"
    """It ended without a recommendation; see its reason."""


NEXT: Mapping[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.RUNNING, State.CANCELLED}),
    # To itself: another attempt takes it over after a crash.
    State.RUNNING: frozenset(
        {State.RUNNING, State.QUEUED, State.CANCELLING, State.DONE, State.FAILED}
    ),
    State.CANCELLING: frozenset({State.CANCELLING, State.CANCELLED}),
    State.DONE: frozenset(),
    State.CANCELLED: frozenset(),
    State.FAILED: frozenset(),
}
FINAL = frozenset(state for state, following in NEXT.items() if not following)
HELD = frozenset({State.RUNNING, State.CANCELLING})
"""States in which a worker should hold the job."""
UNFINISHED = frozenset(State) - FINAL
