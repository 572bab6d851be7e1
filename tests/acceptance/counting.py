"""This machine's engine with a clock that counts runs, so that no speed decides their number."""

from __future__ import annotations

from dataclasses import replace

from autotune.engine.engine import RunResult, TrialRequest, Watch
from autotune.engine.local import LocalEngine

SECONDS = 150.0
"""What a run takes by that clock: more than any will take that this machine makes."""


class Counting(LocalEngine):
    """Runs trials as this machine does, and says of each that it took the same time."""

    def __init__(self) -> None:
        super().__init__()
        self._runs = 0

    def now(self) -> float:
        """Return how long all runs have taken."""
        return SECONDS * self._runs

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run it, and put the clock forward."""
        result = super().run(request, watch)
        self._runs += 1
        return replace(result, wall_seconds=SECONDS)
