"""Certifies a configuration: two short runs, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autotune.certify.certificate import Certificate, Check, Finding, failed, see, undecided
from autotune.certify.examples import check_elements, check_examples, check_sizes, needs_whole
from autotune.certify.plan import Candidate, candidate_run, reference_run
from autotune.certify.replicas import check_equal, check_places, check_random, check_start
from autotune.certify.trajectory import NAME, Steps, check_trajectory
from autotune.engine.base import Engine
from autotune.engine.reasons import is_memory
from autotune.engine.tasks.observe import Observation, ObservationRequest, Reader
from autotune.reason import CheckKind, Raised, Reason, Seen
from autotune.strategies import strategy

RUN = "certification run"
_EPSILON = {"mixed_bfloat16": 2.0**-7, "mixed_float16": 2.0**-10}
"""Relative size of a rounding in the types in which gradients are computed, if not in float32."""


def certify(engine: Engine, candidate: Candidate, folder: Path) -> Certificate:
    """Look at a few steps of a configuration, and return what was found.

    Args:
        engine: Runs the processes.
        candidate: What to look at.
        folder: For the traces of the runs; it may be removed afterwards.
    """
    chosen = strategy(candidate.configuration.strategy)
    if chosen.asynchronous:
        return Certificate(
            checks=(undecided(RUN, see(CheckKind.ASYNCHRONOUS, title=chosen.title)),)
        )
    run = candidate_run(candidate, folder / "candidate")
    seen = engine.execute(run)
    if seen.failure is not None:
        check = failed(RUN, Seen(kind=CheckKind.RUN_FAILED, reason=seen.failure))
        return Certificate(checks=(check,), seconds=seen.seconds)
    count = needs_whole(_readers(seen), repeatable=candidate.facts.repeatable)
    alone = engine.execute(reference_run(candidate, run, folder / "reference", count=count))
    checks = judge(candidate, run, seen, alone)
    return Certificate(checks=tuple(checks), seconds=seen.seconds + alone.seconds)


def judge(
    candidate: Candidate, run: ObservationRequest, seen: Observation, alone: Observation
) -> list[Check]:
    """Return what the two runs say, one check after the other."""
    configuration, readers = candidate.configuration, _readers(seen)
    checks = [
        check_examples(
            readers,
            alone.whole,
            repeatable=candidate.facts.repeatable,
            who="workers" if len(run.trial.roles) == len(readers) > 1 else "replicas",
        ),
        check_sizes(readers, configuration.per_replica_batch),
        check_elements(readers),
        check_random(seen.witnesses),
        check_places(seen.witnesses),
    ]
    return checks + list(_training(candidate, seen, alone))


def _training(candidate: Candidate, seen: Observation, alone: Observation) -> Iterator[Check]:
    """Yield what is said of the training, up to a mistake: the rest only follows from it."""
    steps = len(seen.witnesses[0].losses) * candidate.configuration.steps_per_execution
    looks: list[Callable[[], Check]] = [
        lambda: check_start(seen.witnesses),
        lambda: check_equal(seen.witnesses, steps),
        lambda: _trajectory(candidate, seen, alone, steps),
    ]
    for look in looks:
        check = look()
        yield check
        if check.finding is Finding.FAILED:
            return


def _trajectory(candidate: Candidate, seen: Observation, alone: Observation, steps: int) -> Check:
    if (why := alone.failure) is not None:
        found = failed if _refuses(why) else undecided
        return found(NAME, Seen(kind=CheckKind.REFERENCE_FAILED, reason=why))
    configuration = candidate.configuration
    taken = Steps(
        count=steps,
        batch=configuration.global_batch,
        replicas=configuration.replicas,
        epsilon=_EPSILON.get(configuration.precision, 0.0),
    )
    return check_trajectory(seen.witnesses[0], alone.witnesses, taken)


def _refuses(why: Reason) -> bool:
    """Return whether one device cannot train with the batches, however much memory it has."""
    if not isinstance(why, Raised):
        return False
    return not is_memory({"kind": why.error, "message": why.message})


def _readers(seen: Observation) -> Sequence[Reader]:
    return [reader for witness in seen.witnesses for reader in witness.readers]
