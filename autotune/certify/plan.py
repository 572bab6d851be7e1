"""The runs of a certification, and which configurations one stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from autotune.config import Configuration, axes, default_of
from autotune.engine.base import Limits
from autotune.engine.tasks.observe import ObservationRequest
from autotune.engine.tasks.train import TrialRequest, trial_request
from autotune.machine import Machine
from autotune.workload import Workload, WorkloadFacts


def family(configuration: Configuration) -> Configuration:
    """Return what stands for all configurations that are distributed in the same way.

    One step per call and several are told apart, because they may be trained by other programs.
    """
    usual = {name: default_of(name) for name, axis in axes().items() if axis.speed_only}
    several = configuration.steps_per_execution > 1
    return configuration.taking({**usual, "steps_per_execution": 1 + several})


STEPS = 8
"""Of training, where they are quick and a call runs so few: copies that drift do so in one."""
FEWEST_CALLS = 2
"""The loss of the second call depends on what the first one learned."""
SECONDS = 2.0
"""That the steps, and the reading before them, should take at most."""
MOST_READ = 4096
"""Examples that are read and told apart."""
MOST_BYTES = 128 * 2**20
"""Of examples that are read, and again of those that are kept."""
COUNTING_SECONDS = 4.0
"""For counting the whole dataset, where only that can tell duplicates from overlap."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration that may win, and what it trains where."""

    configuration: Configuration
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    rate: float
    """Examples per second, as measured."""
    seed: int = 0
    limits: Limits = field(default_factory=Limits)

    @property
    def step_seconds(self) -> float:
        """How long a step takes."""
        return self.configuration.global_batch / self.rate


def candidate_run(candidate: Candidate, folder: Path) -> ObservationRequest:
    """Return the run of the candidate's own program."""
    calls, reads = _calls(candidate), _reads(candidate)
    steps = calls * candidate.configuration.steps_per_execution
    return ObservationRequest(
        trial=_trial(candidate, candidate.configuration, folder),
        calls=calls,
        reads=reads,
        kept=min(reads, _within_bytes(candidate), steps, STEPS),
    )


def reference_run(
    candidate: Candidate, run: ObservationRequest, folder: Path, *, count: bool
) -> ObservationRequest:
    """Return the run of one device on the batches that the candidate's run has kept.

    Args:
        candidate: Of which one device is the reference.
        run: The candidate's.
        folder: For this run.
        count: Whether to count the whole dataset as well.
    """
    configuration = candidate.configuration
    alone = configuration.on_one_device().with_global_batch(configuration.global_batch)
    return ObservationRequest(
        trial=_trial(candidate, alone, folder),
        calls=run.calls,
        reference_to=run.trial.folder,
        processes=len(run.trial.roles),
        counting_seconds=COUNTING_SECONDS if count else 0.0,
        batched=candidate.facts.batched,
    )


def _trial(candidate: Candidate, configuration: Configuration, folder: Path) -> TrialRequest:
    # A learning rate that rises with the steps of a training would do so otherwise in a reference,
    # which makes the same steps several times: both train at the user's own.
    facts = candidate.facts.model_copy(update={"learning": None})
    return trial_request(
        configuration,
        candidate.workload,
        facts,
        candidate.machine,
        folder,
        seed=candidate.seed,
        limits=candidate.limits,
    )


def _calls(candidate: Candidate) -> int:
    per_call = candidate.configuration.steps_per_execution
    wanted = math.ceil(STEPS / per_call)
    affordable = int(SECONDS / (per_call * candidate.step_seconds))
    return max(FEWEST_CALLS, min(wanted, affordable))


def _reads(candidate: Candidate) -> int:
    """Return how many steps are read: less than an epoch, so that nothing comes round again."""
    batch = candidate.configuration.global_batch
    most = [MOST_READ // batch, int(SECONDS / candidate.step_seconds), _within_bytes(candidate)]
    if candidate.facts.examples is not None:
        most.append(candidate.facts.examples // batch)
    return max(min(most), 1)


def _within_bytes(candidate: Candidate) -> int:
    step = candidate.configuration.global_batch * max(candidate.facts.example_bytes, 1)
    return max(MOST_BYTES // step, 1)
