"""Which runs take a configuration apart, and what their timings add up to."""

from __future__ import annotations

import pytest

from autotune.checks.experiment import Experiment, Timings, further, telling, variant
from autotune.config import Configuration
from autotune.stats.intervals import EXPECTED, Noise

WORKERS = Configuration(
    strategy="multi_worker_mirrored",
    workers=2,
    per_replica_batch=64,
    shard_policy="data",
    reduction="ring",
    steps_per_execution=8,
    intra_op_parallelism_threads=1,
)

STEP, HELD = Experiment.STEP, Experiment.HELD
INPUT = {STEP: 1, HELD: -1}


def test_a_replica_alone_keeps_all_but_its_company() -> None:
    """One device with the steps per call and the threads of the replica, with half its batch."""
    alone = Configuration(
        per_replica_batch=64, steps_per_execution=8, intra_op_parallelism_threads=1
    )
    assert WORKERS.on_one_device() == alone.on_one_device() == alone
    half = variant(WORKERS, Experiment.HALF)
    assert half.configuration == alone.but(per_replica_batch=32)
    assert variant(Configuration(per_replica_batch=1), Experiment.HALF) is None


@pytest.mark.parametrize(("given", "other"), [(1, 8), (8, 1), (32, 1)])
def test_calls_are_compared_with_another_number_of_steps(given: int, other: int) -> None:
    what = variant(Configuration(steps_per_execution=given), Experiment.CALLS)
    assert what.configuration.steps_per_execution == other


def test_only_what_there_is_is_asked_for() -> None:
    assert Experiment.CALLS in further(WORKERS.on_one_device())
    assert Experiment.CALLS not in further(WORKERS)
    assert Experiment.APART in telling(WORKERS)
    served = Configuration(
        strategy="parameter_server", workers=2, servers=1, per_replica_batch=64, shard_policy="data"
    )
    assert Experiment.APART not in {*telling(served), *further(served)}


def test_a_share_takes_all_its_terms() -> None:
    assert Timings({STEP: 10.0}, EXPECTED).share(INPUT) is None
    assert Timings({HELD: 1.0}, EXPECTED).share(INPUT) is None
    whole = Timings({STEP: 10.0, HELD: 4.0}, EXPECTED).share(INPUT)
    assert whole.value == pytest.approx(0.6)
    found = Timings({STEP: 0.1, HELD: 0.001}, Noise(sd=0.1, degrees=50)).share(INPUT)
    assert found.high - found.low < 0.01
