"""The verdict in a sentence."""

from __future__ import annotations

from autotune import Verdict
from autotune.config import Configuration
from autotune.measure import Interval
from autotune.search.history import History
from autotune.search.reasons import summary
from autotune.search.search import Findings
from autotune.search.verdict import Decision
from autotune.workload import WorkloadFacts

ALONE = Configuration(per_replica_batch=128)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def found(decision: Decision) -> Findings:
    return Findings(
        recommended=ALONE,
        decision=decision,
        baseline=ALONE,
        default=ALONE,
        twin=None,
        examples_per_second=None,
        value=None,
        over_default=None,
        history=History([]),
        facts=WorkloadFacts(),
        distributable=1,
        certificate=None,
        interrupted=False,
    )


def test_a_rival_of_the_baseline_is_named() -> None:
    """A challenger that another single device may equal is not sure, and the reason says so."""
    gain = Interval(low=1.05, value=1.12, high=1.2)
    decision = Decision(
        verdict=Verdict.UNDECIDED, challenger=TWO, gain=gain, rounds=6, rival=ALONE, most=1.2
    )
    told = summary(found(decision), margin=0.05)
    assert "1.12 times (1.05 to 1.20)" in told
    assert "other single-device settings may be as fast (per_replica_batch 128)" in told
