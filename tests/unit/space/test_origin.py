"""Whose choice a configuration is."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.space.origin import Origin, choices, origins
from autotune.workload import FitFacts, OwnStrategy, WorkloadFacts

CPU = Host(cpus=2, memory=2**34, processor="x")
GPUS = CPU.model_copy(update={"gpus": ("A", "B")})
ALONE = Machine(hosts=(CPU,))
ONE = Configuration(per_replica_batch=64)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=32)
FOUR = Configuration(
    strategy="multi_worker_mirrored", workers=2, replicas_per_worker=2, per_replica_batch=16
)


def facts(title: str, replicas: int = 1, workers: int = 1) -> WorkloadFacts:
    own = OwnStrategy(title=title, replicas=replicas, workers=workers)
    return WorkloadFacts(examples=640, usual_batch=64, fit=FitFacts(own_strategy=own))


@pytest.mark.parametrize(
    ("known", "own"),
    [
        (facts("MirroredStrategy"), ONE),
        (facts("MirroredStrategy", 2), PAIR),
        (facts("OneDeviceStrategy"), ONE),
        (facts("MultiWorkerMirroredStrategy", 4, 2), FOUR),
        (facts("MirroredStrategy", 3), None),
        (facts(""), None),
    ],
)
def test_the_script_has_a_choice(known: WorkloadFacts, own: Configuration | None) -> None:
    """By what its strategy would be here, at its own batch."""
    assert choices(ALONE, known).get(Origin.SCRIPT) == own


@pytest.mark.parametrize(
    ("machine", "taken"),
    [(ALONE, ONE), (Machine(hosts=(GPUS,)), PAIR), (Machine(hosts=(GPUS, GPUS)), FOUR)],
)
def test_a_fixed_rule_has_one_too(machine: Machine, taken: Configuration) -> None:
    assert choices(machine, WorkloadFacts(usual_batch=64)) == {Origin.AUTO_STRATEGY: taken}


def test_a_configuration_may_be_the_choice_of_both() -> None:
    """However its examples are sharded, but not with other settings."""
    chosen = choices(Machine(hosts=(GPUS, GPUS)), facts("MultiWorkerMirroredStrategy", 4, 2))
    assert set(origins(FOUR.but(shard_policy="data"), chosen)) == set(Origin)
    assert origins(FOUR.but(shard_policy="data", steps_per_execution=8), chosen) == ()
