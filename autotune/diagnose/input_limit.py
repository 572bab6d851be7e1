"""How much of the input pipeline's work each replica waits for."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.workload import WorkloadFacts


def read_whole(configuration: Configuration, facts: WorkloadFacts) -> bool:
    """Whether every worker runs the whole input pipeline and keeps only its share of it."""
    if configuration.workers == 1 or configuration.cache != "off":
        return False
    policy = configuration.shard_policy
    return policy == "data" or (policy == "auto" and not facts.file_shards)


def undivided(configuration: Configuration, facts: WorkloadFacts) -> bool:
    """Whether more replicas leave the work of each input pipeline as it is."""
    return configuration.workers == 1 or read_whole(configuration, facts)


def read_by_one(configuration: Configuration, facts: WorkloadFacts) -> int:
    """Return how many examples one pipeline reads for a step."""
    if read_whole(configuration, facts):
        return configuration.global_batch
    return configuration.global_batch // configuration.workers
