"""Engines for the service under test; its settings name them."""

import time

from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop, Watch
from autotune.engine.tasks import InspectionRequest, TrialRequest
from autotune.errors import WorkloadError
from autotune.reason import Message, Outcome
from autotune.workload import WorkloadFacts
from tests.engines.fake import FakeEngine, fake_learning

LASTING = ("filters", 64)
"""What a model is given whose job is to go on."""
FAILING = ("filters", 63)
"""What a model is given whose job is to fail."""


def _speed(configuration: Configuration) -> float:
    return 1000.0 * configuration.per_replica_batch**0.5 / configuration.replicas


class Unhurried(FakeEngine):
    """Takes a moment of real time for each trial."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        time.sleep(0.05)
        return super().run(request, watch)


def engine() -> FakeEngine:
    return Unhurried(_speed, learning=fake_learning(500.0))


class Leisurely(FakeEngine):
    """Takes long enough for each trial to be watched, or for a job to run until it is cancelled."""

    def inspect(self, request: InspectionRequest) -> WorkloadFacts:
        if FAILING in request.workload.model.arguments:
            folder = "/srv/teams/vision/datasets/2026/train-00000-of-00512.tfrecord"
            raise WorkloadError(f"{folder} cannot be read.", "Check the path.")
        return super().inspect(request)

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        lasting = LASTING in request.workload.model.arguments and len(self.requests) >= 6
        time.sleep(10.0 if lasting else 0.25)
        return super().run(request, watch)


def _mixed(configuration: Configuration) -> float | Stop:
    """Let some batches run out of memory, and what is distributed be slow, fast or broken."""
    if configuration.per_replica_batch >= 512:
        reason = "the <b>model</b> & its activations passed the ceiling of 2 GiB"
        return Stop(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text=reason))
    if configuration.strategy == "multi_worker_mirrored" and configuration.xla:
        return Stop(
            outcome=Outcome.CRASHED, reason=Message(text="a worker was terminated by signal 6")
        )
    gain = {"mirrored": 1.6, "multi_worker_mirrored": 0.3}.get(configuration.strategy, 1.0)
    return 1000.0 * configuration.per_replica_batch**0.5 * gain


def mixed() -> FakeEngine:
    """Return an engine under which trials end in many ways."""
    return Leisurely(_mixed, between=0.02, learning=fake_learning(500.0))
