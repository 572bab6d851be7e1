"""Which strategies there are, and when each is legal."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from autotune import versions
from autotune.axis import AxisRole
from autotune.config import Configuration, ShardPolicy, axes_of
from autotune.errors import ConfigurationError
from autotune.machine import Machine
from autotune.strategies import GROUP, Strategy, strategies, strategy
from autotune.strategies.one_device import OneDevice
from autotune.workload import WorkloadFacts
from tests.golden import CPUS, GPUS, TPU

TWO_HOSTS = Machine(hosts=CPUS.hosts * 2)
FACTS = WorkloadFacts()
UNCOUNTED = WorkloadFacts(uncertain=("file_shards",))

ONE = Configuration()
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2)
GANG = Configuration(strategy="multi_worker_mirrored", workers=2)
CORES = Configuration(strategy="tpu", replicas_per_worker=8)
SERVED = Configuration(strategy="parameter_server", workers=2, servers=1, shard_policy="data")
ADDED = type("Added", (OneDevice,), {"name": "added"})()


def reason(
    configuration: Configuration, machine: Machine = CPUS, facts: WorkloadFacts = FACTS
) -> str | None:
    return strategy(configuration.strategy).why_illegal(configuration, machine, facts)


def test_an_unknown_strategy_brings_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean mirrored"):
        strategy("miror")
    with pytest.raises(ConfigurationError, match="Available: mirrored, multi"):
        strategy("horovod")


@pytest.mark.parametrize("each", strategies().values(), ids=list(strategies()))
def test_a_strategy_describes_itself(each: Strategy) -> None:
    assert each.axes <= {*axes_of(AxisRole.PLACEMENT)} - {"strategy"}
    assert all(each.has(name) for name in (*each.axes, "strategy", "prefetch"))
    assert each.doc.endswith(".")
    assert each.reductions[0] == "default"


@pytest.mark.parametrize(
    ("configuration", "machine"),
    [
        (ONE, CPUS),
        (MIRRORED, CPUS),
        (MIRRORED.but(replicas_per_worker=4, reduction="nccl"), GPUS),
        (MIRRORED.but(steps_per_execution=8), CPUS),
        (GANG, CPUS),
        (GANG.but(workers=4), TWO_HOSTS),
        (GANG.but(replicas_per_worker=2, reduction="nccl", xla=True), GPUS),
        (CORES, TPU),
        (SERVED, CPUS),
        (SERVED.but(servers=2, steps_per_execution=8, intra_op_parallelism_threads=1), CPUS),
    ],
)
def test_what_can_run_is_legal(configuration: Configuration, machine: Machine) -> None:
    assert reason(configuration, machine) is None


@pytest.mark.parametrize(
    ("configuration", "machine", "words"),
    [
        (ONE.but(workers=2), CPUS, "one_device has one replica, not 2"),
        (ONE.but(reduction="nccl"), CPUS, "no reduction 'nccl'"),
        (MIRRORED.but(workers=2), CPUS, "in one process"),
        (MIRRORED.but(replicas_per_worker=1), CPUS, "at least 2 replicas"),
        (MIRRORED.but(replicas_per_worker=3), CPUS, "2 CPU cores, too few for 3 replicas"),
        (MIRRORED.but(replicas_per_worker=4), TWO_HOSTS, "2 CPU cores, too few for 4 replicas"),
        (MIRRORED.but(replicas_per_worker=5), GPUS, "4 GPUs, too few for 5 replicas"),
        (MIRRORED.but(xla=True), CPUS, "XLA compiles for one device"),
        (MIRRORED.but(reduction="nccl"), CPUS, "needs GPUs"),
        (MIRRORED.but(reduction="ring"), CPUS, "no reduction 'ring'; choose from default"),
        (GANG.but(workers=1), CPUS, "at least 2 workers"),
        (GANG.but(workers=3), CPUS, "2 CPU cores, too few for 3 workers"),
        (GANG.but(replicas_per_worker=2), CPUS, "exactly one replica per worker"),
        (GANG.but(replicas_per_worker=3), GPUS, "4 GPUs, too few for 6 replicas"),
        (GANG.but(reduction="nccl"), CPUS, "needs GPUs"),
        (GANG.but(xla=True), CPUS, "collectives between CPU workers"),
        (CORES, CPUS, "no TPU"),
        (CORES.but(replicas_per_worker=4), TPU, "all 8 cores"),
        (CORES.but(workers=2), TPU, "one process"),
        (CORES.but(precision="mixed_float16"), TPU, "bfloat16"),
        (CORES.but(xla=True), TPU, "always compiles"),
        (SERVED.but(workers=1), CPUS, "at least 2 workers"),
        (SERVED.but(servers=0), CPUS, "at least 1 parameter server"),
        (SERVED.but(workers=3), CPUS, "2 CPU cores, too few for 3 workers"),
        (SERVED.but(servers=3), CPUS, "2 CPU cores, too few for 3 parameter servers"),
        (SERVED.but(workers=5), GPUS, "4 GPUs, too few for 5 workers"),
        (SERVED.but(replicas_per_worker=2), CPUS, "one replica per worker"),
        (SERVED.but(xla=True), CPUS, "variables in other processes"),
        (SERVED.but(reduction="ring"), CPUS, "no reduction 'ring'"),
        (SERVED.but(shard_policy="auto"), CPUS, "'auto' has no effect; use data or source"),
        (SERVED.but(shard_policy="file"), CPUS, "'file' has no effect; use data or source"),
        (SERVED.but(shard_policy="source"), CPUS, "a parameter `input_context`"),
    ],
)
def test_what_cannot_run_is_refused(
    configuration: Configuration, machine: Machine, words: str
) -> None:
    """Two hosts of two cores are no host of four for one process."""
    found = str(reason(configuration, machine))
    assert words in found
    assert found.endswith(".")


@pytest.mark.parametrize(
    ("policy", "shards", "takes", "words"),
    [
        ("data", 0, "", None),
        ("data", 1, "input_context", None),
        ("auto", 0, "", None),
        ("auto", 1, "", "empty batches; use data"),
        ("auto", 2, "", None),
        ("file", 0, "", "does not come from files"),
        ("file", 1, "", "too few to shard"),
        ("file", 2, "", None),
        ("source", 0, "", "a parameter `input_context`"),
        ("source", 0, "input_context", None),
        ("off", 0, "", "every worker reads all examples; use data"),
        ("off", 0, "input_context", "every worker reads all examples; write source"),
    ],
)
def test_each_worker_must_get_a_share_of_its_own(
    policy: ShardPolicy, shards: int, takes: str, words: str | None
) -> None:
    facts = WorkloadFacts(file_shards=shards, dataset_takes=(takes,))
    found = reason(GANG.but(shard_policy=policy), CPUS, facts)
    assert found is None if words is None else words in str(found)


@pytest.mark.parametrize(
    ("configuration", "machine", "facts", "words"),
    [
        (GANG.but(shard_policy="file"), CPUS, UNCOUNTED, "Only 0 files were counted in time"),
        (SERVED, CPUS, WorkloadFacts(python_input=True), "from_generator"),
        (CORES, TPU, WorkloadFacts(element="TensorSpec(shape=(), dtype=tf.string)"), "strings"),
    ],
)
def test_what_the_data_is_may_be_in_the_way(
    configuration: Configuration, machine: Machine, facts: WorkloadFacts, words: str
) -> None:
    """Files that there was no time to count are not said to be missing."""
    assert words in str(reason(configuration, machine, facts))


@pytest.mark.parametrize(
    ("configuration", "element", "training"),
    [
        (ONE.but(steps_per_execution=8), "", "fit"),
        (MIRRORED, "", "fit"),
        (MIRRORED.but(steps_per_execution=8), "", "loop"),
        (MIRRORED.but(steps_per_execution=8, reduction="one_device"), "", "fit"),
        (MIRRORED, "TensorSpec(shape=(), dtype=tf.string)", "loop"),
        (GANG, "", "loop"),
        (CORES, "", "fit"),
        (SERVED, "", "coordinator"),
    ],
)
def test_the_loop_is_taken_where_fit_fails(
    configuration: Configuration, element: str, training: str
) -> None:
    facts = WorkloadFacts(element=element)
    assert strategy(configuration.strategy).training(configuration, facts) == training


def placed(strategy_name: str, machine: Machine, **fields: Any) -> list[tuple[str, int, object]]:
    roles = strategy(strategy_name).roles(Configuration(strategy=strategy_name, **fields), machine)
    return [(role.name, role.host, role.gpus) for role in roles]


def test_a_process_sees_only_the_gpus_that_it_trains_on() -> None:
    gang = placed("multi_worker_mirrored", GPUS, workers=2, replicas_per_worker=2)
    assert gang == [("worker 0", 0, (0, 1)), ("worker 1", 0, (2, 3))]
    assert placed("parameter_server", GPUS, workers=2, servers=1) == [
        ("chief 0", 0, ()),
        ("worker 0", 0, (0,)),
        ("worker 1", 0, (1,)),
        ("server 0", 0, ()),
    ]
    assert placed("one_device", GPUS)[0][2] == (0,)
    assert placed("one_device", CPUS)[0][2] is None


def test_a_package_adds_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint(name, f"{__name__}:ADDED", GROUP) for name in ("added", "tpu")]
    monkeypatch.setattr(versions, "entry_points", lambda *, group: points if group else [])
    strategies.cache_clear()
    try:
        assert strategy("added") is ADDED
        assert strategy("tpu").name == "tpu"
    finally:
        strategies.cache_clear()


def test_workers_fill_one_host_after_the_other() -> None:
    two = Machine(hosts=GPUS.hosts * 2)
    assert placed("multi_worker_mirrored", two, workers=3, replicas_per_worker=2) == [
        ("worker 0", 0, (0, 1)),
        ("worker 1", 0, (2, 3)),
        ("worker 2", 1, (0, 1)),
    ]
    assert placed("parameter_server", TWO_HOSTS, workers=2, servers=2) == [
        ("chief 0", 0, None),
        ("worker 0", 0, None),
        ("worker 1", 1, None),
        ("server 0", 0, None),
        ("server 1", 1, None),
    ]
