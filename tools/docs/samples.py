"""Configurations, machines and workloads that show what a declaration does."""

import re
from collections.abc import Iterator
from itertools import product

from autotune.axis import Axis
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies import Strategy
from autotune.workload import Factory, Returned, Workload, WorkloadFacts
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, fake_machine

CPUS = FAKE_MACHINE
GPUS = fake_machine(gpus=("GPU 0", "GPU 1"))
TPU = fake_machine(tpus=8)
MACHINES = (CPUS, GPUS, TPU)
ARRAYS = FAKE_FACTS
WORKLOAD = Workload(
    model=Factory(name="model_fn", module="digits"),
    dataset=Factory(name="dataset_fn", module="digits"),
)
SHARING = ARRAYS.model_copy(update={"dataset_takes": ("input_context",)})
FACTS = (
    ARRAYS,
    SHARING,
    ARRAYS.model_copy(update={"element": "(tf.string (), int32 ())"}),
    ARRAYS.model_copy(update={"python_input": True}),
    ARRAYS.model_copy(update={"file_shards": 1}),
)
_MANY = 64


def configurations(strategy: Strategy) -> Iterator[Configuration]:
    """Yield configurations of a strategy, the plainest first, wrong ones among them."""
    counts = product((2, 1, _MANY), (1, 2, 8, _MANY), (1, 0, _MANY))
    for workers, replicas, servers in sorted(counts, key=lambda each: each[0] != 1):
        yield from _of_size(strategy.name, workers, replicas, servers)


def _of_size(name: str, workers: int, replicas: int, servers: int) -> Iterator[Configuration]:
    plain = Configuration(
        strategy=name, workers=workers, replicas_per_worker=replicas, servers=servers
    )
    yield plain
    for policy in ("data", "file", "source", "off"):
        yield plain.model_copy(update={"shard_policy": policy})
    for change in ({"xla": True}, {"reduction": "ring"}, {"reduction": "nccl"}):
        yield plain.model_copy(update={"shard_policy": "data", **change})
    yield plain.model_copy(update={"precision": "mixed_float16"})


def legal(strategy: Strategy, machine: Machine) -> Configuration | None:
    """Return the plainest configuration that a strategy allows on a machine."""
    for each in configurations(strategy):
        if not each.servers and "servers" in strategy.axes:
            continue
        if each.servers and "servers" not in strategy.axes:
            continue
        if strategy.why_illegal(each, machine, ARRAYS) is None:
            return each
    return None


def refusals(strategy: Strategy) -> list[str]:
    """Return every reason for which a strategy refuses a configuration, each once."""
    found: dict[str, str] = {}
    for machine, facts, each in product(MACHINES, FACTS, configurations(strategy)):
        reason = strategy.why_illegal(each, machine, facts)
        if reason is not None:
            found.setdefault(_pattern(reason), reason)
    return list(found.values())


def trainings(strategy: Strategy) -> set[str]:
    """Return how the programs of a strategy train, whatever is trained."""
    return {
        strategy.training(each.model_copy(update={"steps_per_execution": steps}), facts)
        for each, facts, steps in product(configurations(strategy), FACTS, (1, 8))
    }


def plain_facts() -> WorkloadFacts:
    """Return what is known of a workload whose dataset factory takes parallel calls."""
    return ARRAYS.model_copy(update={"dataset_takes": ("num_parallel_calls", "input_context")})


def facts_for(axis: Axis) -> WorkloadFacts:
    """Return what is known of a workload with which an axis has an effect."""
    plain = plain_facts()
    by_python = plain.model_copy(update={"returned": Returned(by_python=True)})
    eager = plain.model_copy(update={"eager": True})
    every = (plain, by_python, eager)
    return next(each for each in every if not axis.where or axis.where(each))


def _pattern(reason: str) -> str:
    """Return a reason without its figures and quoted values."""
    return re.sub(r"\d+|'[a-z_]+'|write (data|source)\b.*", "", reason)
