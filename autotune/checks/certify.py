"""Certifies a configuration: it does what one device would do, only faster.

Two short runs tell: that of its own program, whose replicas are observed, and one device on the
batches that these have read.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autotune.axis import Place
from autotune.checks import replicas
from autotune.checks.certificate import Certificate, Check, Finding, failed, see, undecided
from autotune.checks.trajectory import NAME, check_trajectory
from autotune.config import Configuration, axes, default_of
from autotune.engine.base import Engine, Limits
from autotune.engine.tasks import Observation, ObservationRequest, TrialRequest, trial_request
from autotune.engine.trial_run import is_memory
from autotune.machine import Machine
from autotune.options import SCRIPT_SEED
from autotune.reason import CheckKind, Raised, Seen
from autotune.strategies import strategy
from autotune.workload import Workload, WorkloadFacts

RUN = "certification run"
STEPS = 8
"""Of training, where they are quick and a call runs so few: copies that drift do so in one."""
FEWEST_CALLS = 2
"""The loss of the second call depends on what the first one learned."""
SECONDS = 2.0
"""That the steps, and the reading before them, should take at most."""
MOST_READ = 4096
"""Examples that are read and distinguished."""
MOST_BYTES = 128 * 2**20
"""Of examples that are read, and again of those that are kept."""
COUNTING_SECONDS = 4.0
"""For counting the whole dataset, where only that can tell duplicates from overlap."""


def family(configuration: Configuration) -> Configuration:
    """Return what stands for all configurations that are distributed in the same way.

    One step per call and several are distinguished, because they may be trained by other programs.
    """
    usual = {name: default_of(name) for name, axis in axes().items() if axis.speed_only}
    several = configuration.steps_per_execution > 1
    return configuration.taking({**usual, "steps_per_execution": 1 + several})


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration that may win, and what it trains where."""

    configuration: Configuration
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    rate: float
    """Examples per second, as measured."""
    limits: Callable[[], Limits] = Limits
    """Gives the limits of each run as it begins."""

    @property
    def step_seconds(self) -> float:
        return self.configuration.global_batch / self.rate


def certify(engine: Engine, candidate: Candidate, folder: Path) -> Certificate:
    """Observe a few steps, with the traces of the runs in a folder that may be removed then."""
    chosen = strategy(candidate.configuration.strategy)
    if chosen.asynchronous:
        unseen = undecided(RUN, see(CheckKind.ASYNCHRONOUS, title=chosen.title))
        return Certificate(checks=(unseen,))
    calls, reads = _calls(candidate), _reads(candidate)
    steps = calls * candidate.configuration.steps_per_execution
    run = ObservationRequest(
        trial=_trial(candidate, candidate.configuration, folder / "candidate"),
        calls=calls,
        reads=reads,
        kept=min(reads, _within_bytes(candidate), steps, STEPS),
    )
    seen = engine.execute(run)
    if seen.failure is not None:
        check = failed(RUN, Seen(kind=CheckKind.RUN_FAILED, reason=seen.failure))
        return Certificate(checks=(check,), seconds=seen.seconds)
    repeatable = candidate.facts.repeatable
    readers = [reader for rank in seen.ranks for reader in rank.readers]
    count = replicas.needs_whole(readers, repeatable=repeatable)
    alone = engine.execute(_reference_run(candidate, run, folder / "reference", count=count))
    units = "workers" if len(run.trial.roles) == len(readers) > 1 else "replicas"
    checks = (
        replicas.check_examples(readers, alone.whole, repeatable=repeatable, units=units),
        replicas.check_sizes(readers, candidate.configuration.per_replica_batch),
        replicas.check_elements(readers),
        replicas.check_random(seen.ranks),
        replicas.check_places(seen.ranks),
        *_training(candidate, seen, alone),
    )
    return Certificate(checks=checks, seconds=seen.seconds + alone.seconds)


def _training(candidate: Candidate, seen: Observation, alone: Observation) -> Iterator[Check]:
    """Yield what is said of the training, up to a mistake: the rest only follows from it."""
    steps = len(seen.ranks[0].losses) * candidate.configuration.steps_per_execution
    for check in (replicas.check_start(seen.ranks), replicas.check_equal(seen.ranks, steps)):
        yield check
        if check.finding is Finding.FAILED:
            return
    if (why := alone.failure) is not None:
        # One device cannot train with these batches, however much memory it has.
        refuses = isinstance(why, Raised) and not is_memory(
            {"kind": why.error, "message": why.message}
        )
        found = failed if refuses else undecided
        yield found(NAME, Seen(kind=CheckKind.REFERENCE_FAILED, reason=why))
    else:
        yield check_trajectory(seen.ranks[0], alone.ranks, candidate.configuration, steps)


def _reference_run(
    candidate: Candidate, run: ObservationRequest, folder: Path, *, count: bool
) -> ObservationRequest:
    configuration = candidate.configuration
    alone = configuration.on_one_device().with_global_batch(configuration.global_batch)
    # Its batches are made before its program begins, when TensorFlow takes no more such settings.
    late = [
        name
        for name, axis in axes().items()
        if axis.speed_only and axis.line and axis.line.place is Place.START
    ]
    alone = alone.taking({name: default_of(name) for name in late})
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
        seed=SCRIPT_SEED,
        limits=candidate.limits(),
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
