"""What an observed run of a fake engine shows: a training without a fault, or with one."""

from __future__ import annotations

from enum import StrEnum

from autotune.engine.tasks.observe import (
    Copy,
    Numbers,
    Observation,
    ObservationRequest,
    RankObservation,
    Reader,
    Variable,
)
from autotune.reason import Killed

START: Numbers = (1.0, 2.0)
END: Numbers = (1.5, 1.0)
ASTRAY: Numbers = (0.5, 3.0)
NEXT = 1e-9
"""What other roundings change."""


class Fault(StrEnum):
    """What can be wrong with a distributed training."""

    SAME_EXAMPLES = "same examples"
    UNEQUAL_BATCHES = "unequal batches"
    DRIFT = "drift"
    WRONG_AVERAGE = "wrong average"
    DIES = "dies"


def observation(
    request: ObservationRequest, fault: Fault | None = None, seconds: float = 0.0
) -> Observation:
    """Return what is seen of a request's run, or of its reference."""
    if fault is Fault.DIES:
        return Observation(failure=Killed(process="worker 1", signal=9), seconds=seconds)
    if request.reference_to is not None:
        ends = [END, tuple(each + NEXT for each in END), tuple(each - NEXT for each in END)]
        return Observation(
            ranks=tuple(_rank([end], request.calls) for end in ends), seconds=seconds
        )
    return Observation(ranks=_group(request, fault), seconds=seconds)


def _group(request: ObservationRequest, fault: Fault | None) -> tuple[RankObservation, ...]:
    configuration = request.trial.configuration
    found = []
    for worker in range(configuration.workers):
        replicas = range(
            worker * configuration.replicas_per_worker,
            (worker + 1) * configuration.replicas_per_worker,
        )
        readers = tuple(_reader(request, replica, fault) for replica in replicas)
        ends = [_end(replica, fault) for replica in replicas]
        rank = _rank(ends, request.calls)
        found.append(rank.model_copy(update={"readers": readers}))
    return tuple(found)


def _rank(ends: list[Numbers], calls: int) -> RankObservation:
    variable = Variable(
        name="kernel",
        kind="trainable",
        epsilon=1e-7,
        copies=len(ends),
        mirrored=len(ends) > 1,
        apart=False,
    )
    return RankObservation(
        variables=(variable,),
        copies=tuple(Copy(start=(START,), end=(end,)) for end in ends),
        losses=(1.0,) * calls,
    )


def _reader(request: ObservationRequest, replica: int, fault: Fault | None) -> Reader:
    batch = request.trial.configuration.per_replica_batch
    size = batch - (fault is Fault.UNEQUAL_BATCHES and replica == 1)
    whose = 0 if fault is Fault.SAME_EXAMPLES else replica
    return Reader(
        sizes=(size,) * request.reads,
        elements=("float32 [100]",),
        examples={f"{whose}-{i}": 1 for i in range(size * request.reads)},
    )


def _end(replica: int, fault: Fault | None) -> Numbers:
    wrong = fault is Fault.WRONG_AVERAGE or (fault is Fault.DRIFT and replica == 1)
    return ASTRAY if wrong else END
