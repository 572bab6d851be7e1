"""What is known of a running search, from its events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from autotune.events import Event, Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.objective import Score, Scorer, objective_named, throughput_of
from autotune.plan import Plan
from autotune.result.leaderboard import Leaderboard
from autotune.trial import Stage

PHASES: Mapping[Stage, str] = {
    Stage.BASELINE: "Searching for the best settings on one device",
    Stage.EXPLORE: "Searching for a distributed configuration that beats one device",
    Stage.FINAL: "Finals: measuring the best again, alternating in fresh processes",
}


class Progress:
    """The state of a search, as far as its events show.

    Args:
        now: A clock in seconds, to go on counting between two events.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since = now()
        self._ahead = 0.0
        self.waited: float | None = None
        """Seconds before the search began, in which it waited for its machine; None until then."""
        self.phase = "Starting"
        self.plan: Plan | None = None
        self.running: TrialStarted | None = None
        self.running_since = 0.0
        self._score: Score = throughput_of
        self.leaderboard = Leaderboard(())

    @property
    def elapsed(self) -> float:
        """Seconds since the first event, those before the search included; it never goes back."""
        return self._now() - self._since + self._ahead

    @property
    def spent(self) -> float:
        """Seconds since the search began, of its budget."""
        return self.elapsed - (self.waited or 0.0)

    @property
    def running_for(self) -> float:
        return self.elapsed - self.running_since

    def take(self, event: Event) -> None:
        if self.waited is None and not isinstance(event, Notice):
            self.waited = self.elapsed
        if isinstance(event, Preparing):
            self.phase = event.what
        elif isinstance(event, Planned):
            self.plan = plan = event.plan
            objective = objective_named(plan.objective)
            self._score = Scorer(objective=objective, facts=plan.facts, machine=plan.machine)
            self.leaderboard = Leaderboard(event.kept, score=self._score)
        elif isinstance(event, TrialStarted):
            self._at(event.elapsed)
            self.phase = PHASES[event.stage]
            self.running, self.running_since = event, self.elapsed
        elif isinstance(event, TrialEnded):
            self._at(event.elapsed)
            self.running = None
            self.leaderboard = Leaderboard(
                (*self.leaderboard.trials, event.trial), score=self._score
            )

    def _at(self, spent: float) -> None:
        """Go forward to what an event says, as that of a search which began before this view."""
        self._ahead += max(spent - self.spent, 0.0)
