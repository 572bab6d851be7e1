"""What is said where the input is the limit: how slow it is, and what would help."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.config import Configuration
from autotune.diagnose.breakdown import Breakdown
from autotune.workload import WorkloadFacts


def input_limit(found: Breakdown, facts: WorkloadFacts) -> Iterator[str]:
    """Yield how slow the input is and what helps against it.

    Args:
        found: A step that waits for its input.
        facts: Of the workload.
    """
    each = found.milliseconds / read_by_one(found.configuration, facts)
    limit = f"It is input-bound, at about {each:.2g} ms per example"
    if read_whole(found.configuration, facts):
        yield f"{limit}. {_thrown_away(found.configuration, facts)}"
    else:
        yield f"{limit}: {_help(found.configuration, facts)}"


def read_whole(configuration: Configuration, facts: WorkloadFacts) -> bool:
    """Whether every worker runs the whole input pipeline and keeps only its share of it."""
    if configuration.workers == 1 or configuration.cache == "memory":
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


def _help(configuration: Configuration, facts: WorkloadFacts) -> str:
    if facts.python_input:
        whole = "Python code produces the examples one at a time in each process. Read several "
        if configuration.shard_policy == "source":
            return f"{whole}sources in parallel with `interleave`, or add workers."
        return f"{whole}sources in parallel with `interleave`, or {_at_the_source(facts)}."
    if "num_parallel_calls" in facts.dataset_takes:
        return "try more parallel calls, a cache, or sharding at the source."
    return (
        "declare `num_parallel_calls` in the dataset factory and pass it to `map`, cache what "
        "does not change, or declare `input_context` and read only a worker's shard."
    )


def _thrown_away(configuration: Configuration, facts: WorkloadFacts) -> str:
    workers = configuration.workers
    if facts.file_shards >= workers:
        instead = "with shard policy file each reads its own files"
    else:
        instead = f"{_at_the_source(facts)}, or split the input into at least {workers} files"
    return (
        f"With shard policy {configuration.shard_policy} each of the {workers} workers runs the "
        "whole input pipeline and discards all but its share of the examples, so more workers do "
        f"not make it faster; {instead}."
    )


def _at_the_source(facts: WorkloadFacts) -> str:
    if "input_context" in facts.dataset_takes:
        return "let each worker read only its shard (shard policy source)"
    return "declare `input_context` in the dataset factory and read only a worker's shard there"
