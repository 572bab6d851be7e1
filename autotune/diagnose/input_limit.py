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
    limit = f"Its input is the limit, at about {each:.2g} ms for each example"
    if read_whole(found.configuration, facts):
        yield f"{limit}. {_thrown_away(found.configuration, facts)}"
    else:
        yield f"{limit}: {_help(facts)}"


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


def _help(facts: WorkloadFacts) -> str:
    if facts.python_input:
        return (
            "Python code makes the examples, one after the other in each process. Read several "
            f"sources at once with `interleave`, or {_at_the_source(facts)}."
        )
    if "num_parallel_calls" in facts.dataset_takes:
        return "try more parallel calls, a cache, or reading at the source by each worker."
    return (
        "let the dataset factory declare `num_parallel_calls` and give it to its `map`, cache what "
        "does not change, or declare `input_context` and read only a worker's share."
    )


def _thrown_away(configuration: Configuration, facts: WorkloadFacts) -> str:
    workers = configuration.workers
    if facts.file_shards >= workers:
        instead = "the shard policy file gives each its own files"
    else:
        instead = f"{_at_the_source(facts)}, or write the input as {workers} files or more"
    return (
        f"With the shard policy {configuration.shard_policy} each of the {workers} workers runs "
        f"the whole input and throws all but its share of the examples away, so more workers do "
        f"not make it faster; {instead}."
    )


def _at_the_source(facts: WorkloadFacts) -> str:
    if "input_context" in facts.dataset_takes:
        return "let each worker make only its share (the shard policy source)"
    return "declare `input_context` in the dataset factory and make only a worker's share there"
