"""Which runs take a configuration apart."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.diagnose.experiment import Experiment, experiments, variant

GANG = Configuration(
    strategy="multi_worker_mirrored",
    workers=2,
    per_replica_batch=64,
    shard_policy="data",
    reduction="ring",
    steps_per_execution=8,
    threads_per_process=1,
)


def test_a_replica_alone_keeps_all_but_its_company() -> None:
    """One device with the batch, the steps per call and the threads of the replica."""
    expected = Configuration(per_replica_batch=64, steps_per_execution=8, threads_per_process=1)
    assert GANG.on_one_device() == expected
    assert expected.on_one_device() == expected


def test_half_the_batch_needs_two_examples() -> None:
    """A batch of one has no half."""
    assert variant(Configuration(per_replica_batch=1), Experiment.HALF) is None
    half = variant(GANG, Experiment.HALF)
    assert half is not None
    assert half.configuration == GANG.on_one_device().model_copy(update={"per_replica_batch": 32})


def test_calls_are_compared_with_another_number_of_steps() -> None:
    """One step per call against several, whichever the configuration has."""
    for given, other in ((1, 8), (8, 1), (32, 1)):
        what = variant(Configuration(steps_per_execution=given), Experiment.CALLS)
        assert what is not None
        assert what.configuration.steps_per_execution == other


def test_only_workers_have_a_network() -> None:
    """Latency is asked for where there is one."""
    assert Experiment.LATENCY in experiments(GANG)
    assert Experiment.EXCHANGE not in experiments(GANG.on_one_device())
