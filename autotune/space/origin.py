"""Whose choice a configuration is: what the script would make, and what a fixed rule would take."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.workload import WorkloadFacts, own_batch, own_settings


class Origin(StrEnum):
    """Who would train so."""

    SCRIPT = "script"
    """The script, by the strategy that it makes."""
    AUTO_STRATEGY = "auto_strategy"
    """The rule that is proposed as `tf.distribute.AutoStrategy` (tensorflow/tensorflow#126327)."""


_STRATEGIES = {
    "MirroredStrategy": "mirrored",
    "MultiWorkerMirroredStrategy": "multi_worker_mirrored",
    "CentralStorageStrategy": "mirrored",
}


def choices(machine: Machine, facts: WorkloadFacts) -> Mapping[Origin, Configuration]:
    """Return what each would train with here, all else as Keras has it.

    Its shard policy is left open. None of one whose replicas cannot share the batch.
    """
    gpus, hosts = max(len(machine.least.gpus), 1), len(machine.hosts)
    rule = "multi_worker_mirrored" if hosts > 1 else "mirrored"
    found = {Origin.AUTO_STRATEGY: _placed(rule, hosts, hosts * gpus, facts)}
    own = facts.fit and facts.fit.own_strategy
    if own and own.title:
        name = _STRATEGIES.get(own.title, "one_device")
        found[Origin.SCRIPT] = _placed(name, own.workers, own.replicas, facts)
    return {origin: each for origin, each in found.items() if each is not None}


def origins(
    configuration: Configuration, chosen: Mapping[Origin, Configuration]
) -> tuple[Origin, ...]:
    return tuple(
        origin
        for origin, each in chosen.items()
        if configuration.taking({"shard_policy": each.shard_policy}) == each
    )


def _placed(name: str, workers: int, replicas: int, facts: WorkloadFacts) -> Configuration | None:
    if replicas == 1:
        return own_settings(facts)
    batch = own_batch(facts).size
    if batch % replicas or replicas % workers:
        return None
    return Configuration(
        strategy=name,
        workers=workers,
        replicas_per_worker=replicas // workers,
        per_replica_batch=batch // replicas,
    )
