"""Which configurations can run on this machine with this workload, and why the others cannot.

What is special to a strategy is in its own file; here is what holds for all of them.
"""

from __future__ import annotations

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.strategies import strategy
from autotune.workload import WorkloadFacts

CACHE_SHARE = 0.25
"""Of the machine's memory, at most this share may hold cached examples."""
ASYNCHRONOUS = (
    "it trains asynchronously, which changes convergence; --allow-asynchronous "
    "(allow_asynchronous in Python and JSON) includes it"
)


def why_illegal(
    configuration: Configuration,
    machine: Machine,
    facts: WorkloadFacts,
    constraints: SearchOptions | None = None,
) -> str | None:
    """Return the rule that a configuration breaks, as a sentence, or None if it can run.

    Args:
        configuration: What would run.
        machine: Where.
        facts: Of the workload.
        constraints: What the user holds fixed; None where the user asked for this configuration.
    """
    return (
        _permission(configuration, constraints)
        or _division(configuration, constraints or SearchOptions())
        or _batch(configuration, facts, constraints or SearchOptions())
        or _epoch(configuration, facts)
        or _cache(configuration, machine, facts)
        or _hardware(configuration, machine)
        or _replicas(configuration)
        or strategy(configuration.strategy).why_illegal(configuration, machine, facts)
    )


def why_illegal_structure(
    configuration: Configuration, machine: Machine, facts: WorkloadFacts, constraints: SearchOptions
) -> str | None:
    """Return the rule that a way of distributing breaks, or None if something with it can run.

    Args:
        configuration: All that does not say how it is distributed must be at its default, which
            breaks no rule of any strategy. A batch that the constraints fix is divided already.
        machine: Where it would run.
        facts: Of the workload.
        constraints: What the user holds fixed.
    """
    return (
        _permission(configuration, constraints)
        or _division(configuration, constraints)
        or _replicas(configuration)
        or strategy(configuration.strategy).why_illegal(configuration, machine, facts)
    )


def _permission(configuration: Configuration, bounds: SearchOptions | None) -> str | None:
    if bounds is None or bounds.allow_asynchronous:
        return None
    return ASYNCHRONOUS if strategy(configuration.strategy).asynchronous else None


def _division(configuration: Configuration, bounds: SearchOptions) -> str | None:
    if bounds.global_batch and configuration.global_batch != bounds.global_batch:
        return f"a global batch of {bounds.global_batch} is not divisible by the number of replicas"
    return None


def _batch(configuration: Configuration, facts: WorkloadFacts, bounds: SearchOptions) -> str | None:
    batch = configuration.global_batch
    if bounds.max_global_batch and batch > bounds.max_global_batch:
        return f"the global batch would exceed max_global_batch {bounds.max_global_batch}"
    if facts.examples is not None and batch > facts.examples:
        return f"the global batch would exceed the {facts.examples} examples of the dataset"
    return None


def _epoch(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    if facts.examples is None:
        return None
    steps = facts.examples // configuration.global_batch
    if configuration.steps_per_execution > max(steps, 1):
        return "an epoch has fewer steps than steps_per_execution"
    return None


def _cache(configuration: Configuration, machine: Machine, facts: WorkloadFacts) -> str | None:
    if configuration.cache == "off":
        return None
    if not facts.repeatable:
        return "a cache would change the training: the dataset differs in every pass"
    if facts.examples is None:
        return "the number of examples is unknown, so a cache may never fill"
    size = facts.examples * facts.example_bytes * configuration.workers
    if size > CACHE_SHARE * machine.least.memory:
        return f"the examples take {size / 2**30:.1f} GiB, too much to cache in memory"
    return None


def _hardware(configuration: Configuration, machine: Machine) -> str | None:
    cores = machine.least.cpus
    if configuration.threads_per_process > cores:
        return f"more threads per process than cores ({cores})"
    if configuration.precision == "mixed_float16" and not machine.gpus:
        return "float16 is fast only on GPUs, and TensorFlow sees none"
    return None


def _replicas(configuration: Configuration) -> str | None:
    if configuration.strategy != "one_device" and not configuration.distributed:
        return "with one replica it is the same as one device"
    return None
