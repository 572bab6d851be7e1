"""What engines have in common that run programs in processes, on whichever hosts."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace

from autotune.engine.engine import (
    Engine,
    LearningRequest,
    ObservationRequest,
    RunResult,
    ScreeningRequest,
    TrialRequest,
    Watch,
)
from autotune.engine.folder import TrialFolder
from autotune.engine.observation import Observation
from autotune.engine.orders import (
    learning,
    observation,
    prepare,
    prepare_learning,
    prepare_observation,
    prepare_screening,
)
from autotune.stats.gradients import Learning


class ProcessEngine(Engine):
    """Tells processes what to do through the folder of a request, and reads their answers there."""

    @abstractmethod
    def execute(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        """Run the processes of a request until something ends them.

        Args:
            request: Names them.
            watch: Told of every new window.
            folder: Tells them what to do, and holds what they leave behind.
            task: What they do, by its name in `autotune.engine.child`.
        """

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run one trial until its watch stops it or something goes wrong."""
        return self._timed(
            request, watch, prepare(request), "train" if request.exchanges else "train apart"
        )

    def observe(self, request: ObservationRequest) -> Observation:
        """Run a program for a few steps and report what its replicas read and how they trained."""
        folder = prepare_observation(request)
        task = "refer" if request.reference_to else "observe"
        result = self._timed(request.trial, lambda _: None, folder, task)
        return observation(folder, result, len(request.trial.roles))

    def screen(self, request: ScreeningRequest, watch: Watch) -> RunResult:
        """Time settings in turn within one process, briefly."""
        return self._timed(request.trial, watch, prepare_screening(request), "screen")

    def learn(self, request: LearningRequest) -> Learning:
        """Train for a while and tell what an example teaches at other batch sizes."""
        folder = prepare_learning(request)
        result = self._timed(request.trial, lambda _: None, folder, "learn")
        return learning(folder, result, request.trial.configuration.global_batch)

    def now(self) -> float:
        """Return this host's monotonic clock in seconds."""
        return time.monotonic()

    def _timed(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        begun = self.now()
        result = self.execute(request, watch, folder, task)
        return replace(result, wall_seconds=self.now() - begun)
