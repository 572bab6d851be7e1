"""No phase of a trial may last for ever."""

from __future__ import annotations

from autotune.reason import Overdue, Phase
from autotune.run import events
from autotune.run.engine import Limits
from autotune.run.events import Event

_PHASE_AFTER = {
    events.TRAIN_BEGIN: Phase.FIRST_STEP,
    events.FIRST_STEP: Phase.STEADY,
    events.WINDOW: Phase.STEADY,
}


class Watchdog:
    """Knows in which phase a process is, and since when.

    Args:
        limits: Seconds that each phase may take.
        begun: When the process was started.
    """

    def __init__(self, limits: Limits, begun: float) -> None:
        self._limits = limits
        self._since = begun
        self.phase = Phase.START

    def note(self, event: Event) -> None:
        """Take in what the process reports."""
        if event["event"] in _PHASE_AFTER:
            self.phase = _PHASE_AFTER[event["event"]]
            self._since = event["at"]

    def overdue(self, now: float) -> Overdue | None:
        """Return which limit has passed; None if all is well."""
        seconds = {
            Phase.START: self._limits.start,
            Phase.FIRST_STEP: self._limits.first_step,
            Phase.STEADY: self._limits.window,
        }[self.phase]
        if now - self._since <= seconds:
            return None
        return Overdue(phase=self.phase, seconds=seconds)
