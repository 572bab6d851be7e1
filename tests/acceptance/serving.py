"""An engine for the service under test; its settings name it."""

from __future__ import annotations

import time

from autotune.config import Configuration
from autotune.run.engine import RunResult, TrialRequest, Watch
from autotune.testing import FakeEngine


def _speed(configuration: Configuration) -> float:
    return 1000.0 * configuration.per_replica_batch**0.5 / configuration.replicas


class Unhurried(FakeEngine):
    """Takes a moment of real time for each trial."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer after a moment."""
        time.sleep(0.05)
        return super().run(request, watch)


def engine() -> FakeEngine:
    """Return the engine."""
    return Unhurried(_speed)
