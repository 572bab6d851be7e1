"""Which runs take a configuration apart."""

from __future__ import annotations

from autotune.checks.experiment import Experiment, further, telling, variant
from autotune.config import Configuration
from autotune.workload import WorkloadFacts

GANG = Configuration(
    strategy="multi_worker_mirrored",
    workers=2,
    per_replica_batch=64,
    shard_policy="data",
    reduction="ring",
    steps_per_execution=8,
    threads_per_process=1,
)
FACTS = WorkloadFacts(gradient_bytes=4_000, dense_gradient_bytes=4_000)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


def test_a_replica_alone_keeps_all_but_its_company() -> None:
    """One device with the batch, the steps per call and the threads of the replica."""
    expected = Configuration(per_replica_batch=64, steps_per_execution=8, threads_per_process=1)
    assert GANG.on_one_device() == expected
    assert expected.on_one_device() == expected


def test_half_the_batch_needs_two_examples() -> None:
    """A batch of one has no half."""
    assert variant(Configuration(per_replica_batch=1), Experiment.HALF, FACTS) is None
    half = variant(GANG, Experiment.HALF, FACTS)
    assert half is not None
    assert half.configuration == GANG.on_one_device().model_copy(update={"per_replica_batch": 32})


def test_calls_are_compared_with_another_number_of_steps() -> None:
    """One step per call against several, whichever the configuration has."""
    for given, other in ((1, 8), (8, 1), (32, 1)):
        what = variant(Configuration(steps_per_execution=given), Experiment.CALLS, FACTS)
        assert what is not None
        assert what.configuration.steps_per_execution == other


def test_one_thing_is_taken_away_at_a_time() -> None:
    """The step as it is, then its input, then its exchange, then all but one replica."""
    runs = [variant(GANG, each, FACTS) for each in telling(GANG)]
    assert [(r.held, r.exchanges, r.configuration.workers) for r in runs if r] == [
        (False, True, 2),
        (True, True, 2),
        (True, False, 2),
        (True, True, 1),
    ]


def test_only_workers_have_a_network() -> None:
    """Latency is asked for where there is one."""
    assert Experiment.LATENCY in further(GANG, FACTS)
    assert Experiment.LATENCY not in further(MIRRORED, FACTS)
    assert Experiment.EXCHANGE not in further(GANG.on_one_device(), FACTS)


def test_an_exchange_of_sparse_gradients_is_not_guessed() -> None:
    """The program that only exchanges gradients knows dense ones; what they add is measured."""
    sparse = WorkloadFacts(gradient_bytes=1_000_000, dense_gradient_bytes=1_000)
    assert Experiment.EXCHANGE not in further(GANG, sparse)
    assert Experiment.APART in telling(GANG)


def test_servers_cannot_be_taken_away() -> None:
    """Workers that train by themselves are no longer asynchronous training."""
    served = Configuration(
        strategy="parameter_server", workers=2, servers=1, per_replica_batch=64, shard_policy="data"
    )
    asked = {*telling(served), *further(served, FACTS)}
    assert asked.isdisjoint({Experiment.APART, Experiment.EXCHANGE, Experiment.LATENCY})
